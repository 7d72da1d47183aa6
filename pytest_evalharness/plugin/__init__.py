"""Everything that pytest sees. This entry module only names its parts, so that loading it stays cheap.

The order matters: a part is listed after the parts it imports, or pytest cannot rewrite its asserts and warns.
"""

pytest_plugins = (
    "pytest_evalharness.plugin.options",
    "pytest_evalharness.plugin.collection",
    "pytest_evalharness.plugin.outcome",
    "pytest_evalharness.plugin.progress",
    "pytest_evalharness.plugin.signals",
    "pytest_evalharness.plugin.dryrun",
    "pytest_evalharness.plugin.fixtures",
    "pytest_evalharness.plugin.episodes",
    "pytest_evalharness.plugin.clbench",
    "pytest_evalharness.plugin.summary",
    "pytest_evalharness.plugin.last_word",
    "pytest_evalharness.plugin.github",
    "pytest_evalharness.plugin.junit",
    "pytest_evalharness.plugin.reruns",
    "pytest_evalharness.plugin.workers",
)
