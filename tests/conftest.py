"""How the property tests run here, and what runs inside a test must not know."""

import os

from hypothesis import settings

# A busy machine is no defect, and CI must find today what it found yesterday.
settings.register_profile("repository", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("repository")

# Where CI is GitHub's, the runs that tests start would write on the page of this one.
os.environ.pop("GITHUB_ACTIONS", None)
