"""`penstock show`: what its flags ask."""


def test_show_takes_a_date(use_case, call, monkeypatch):
    asked = use_case("commands.show", "show", "detail")
    monkeypatch.setattr("penstock.ui.commands.show.show_text", str)

    call("show", "daily", "--date", "2024-12-02")

    assert [words[1:] for words in asked] == [("daily", "2024-12-02")]
