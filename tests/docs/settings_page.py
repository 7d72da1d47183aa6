"""The table of `docs/reference/settings.md`. Run as a program it writes the table into the page."""

from pathlib import Path

from pytest_evalharness.settings import SETTINGS, Kind, Setting

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->\n"


def table() -> str:
    rows = [
        "| option | environment | ini key | default | meaning |\n",
        "| --- | --- | --- | --- | --- |\n",
    ]
    return "".join(rows + [_row(setting) for setting in SETTINGS])


def _row(setting: Setting) -> str:
    option = setting.option if setting.kind is Kind.SWITCH else f"{setting.option} {setting.metavar}"
    cells = [f"`{option}`", f"`{setting.variable}`", f"`{setting.ini}`", _default(setting), setting.help]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _default(setting: Setting) -> str:
    if setting.default is None or setting.default == ():
        return "-"
    return "off" if setting.kind is Kind.SWITCH else f"`{setting.default}`"


def page_with(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text()))
