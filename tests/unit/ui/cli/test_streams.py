"""What a command prints, whoever prints it."""

import io

from penstock.ui.cli.streams import MaskedStream


def test_no_way_of_writing_shows_a_secret(secret):
    shown = io.StringIO()
    stream = MaskedStream(shown)

    stream.write(f"one {secret}\n")
    stream.writelines([f"two {secret}\n", "three\n"])
    print("four", secret, file=stream)

    assert shown.getvalue() == "one ***\ntwo ***\nthree\nfour ***\n"
