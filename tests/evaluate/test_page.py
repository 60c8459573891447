from base64 import b64encode
from html.parser import HTMLParser

from dioptre.evaluate.page import Body, Cell, Column, Figure, Table, build_page

TABLE = Table(
    "One & all",
    "Errors < 4.",
    [
        Column("method", number=False),
        Column("MAE", group="ours"),
        Column("RMSE", group="ours"),
        Column("MAE", group="the paper's"),
    ],
    [Body("The best", [[Cell("a <b>"), Cell("1.50", 1.5, "first", "1.2 to 1.8"), Cell("2", 2.0), Cell("")]])],
    ["a remark"],
)
FIGURE = Figure("A curve", "What it shows.", "dioptre report A B", '<?xml version="1.0"?>\n<svg><g/></svg>')

PHOTOGRAPH = Figure("A photograph", "What it shows.", "dioptre report A B", b"a jpeg")


class Reader(HTMLParser):
    """Checks that tags are closed in order, and collects them."""

    VOID = ("meta", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def test_a_page_is_whole_and_needs_no_network() -> None:
    page = build_page("Predictions", ["Simulated patches."], [TABLE, FIGURE, PHOTOGRAPH])
    reader = read(page)
    for _, entries in reader.tags:
        assert "srcset" not in entries
        assert (entries.get("src") or "data:").startswith("data:")
        assert all(not (value or "").startswith("http") for name, value in entries.items() if name == "href")
    assert "@import" not in page
    assert "url(" not in page
    links = [entries["href"] for tag, entries in reader.tags if tag == "a"]
    assert links == ["#part-1", "#part-2", "#part-3"]
    assert [f"#{entries['id']}" for tag, entries in reader.tags if tag == "section"] == links


def test_what_a_table_says_is_text_and_not_html() -> None:
    reader = read(build_page("x", [], [TABLE]))
    assert "a <b>" in reader.text
    assert "Errors < 4." in reader.text
    assert not [tag for tag, _ in reader.tags if tag == "b"]


def test_cells_have_their_value_tint_and_hint() -> None:
    reader = read(build_page("x", [], [TABLE]))
    cells = [entries for tag, entries in reader.tags if tag == "td"]
    assert cells[0] == {}
    assert cells[1] == {"class": "number first", "data-value": "1.5", "title": "1.2 to 1.8"}
    assert "data-value" not in cells[3]
    groups = [entries["colspan"] for tag, entries in reader.tags if tag == "th" and "colspan" in entries]
    assert groups == ["1", "2", "1", "4"]


def test_a_figure_is_in_the_page_with_what_made_it() -> None:
    page = build_page("x", [], [FIGURE])
    assert "<?xml" not in page
    assert "<svg><g/></svg>" in page
    assert "dioptre report A B" in read(page).text


def test_what_belongs_together_has_its_title_and_photographs_are_inside() -> None:
    page = build_page("x", [], [TABLE, PHOTOGRAPH])
    assert "The best" in read(page).text
    assert f"base64,{b64encode(b'a jpeg').decode()}" in page
