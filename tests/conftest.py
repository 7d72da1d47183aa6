"""How the property tests run here."""

import os

from hypothesis import settings

# A busy machine is no defect, and CI must find today what it found yesterday.
settings.register_profile("repository", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("repository")
