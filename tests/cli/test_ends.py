"""`eval` says what the ends of units cost, and leaves them out when asked to."""

import json

from neuralgram.evaluation.texts import Reading, evaluate_texts
from tests.evaluation.test_ends import TEXT, model


def test_the_command_says_what_ends_cost_and_leaves_them_out(run, tmp_path):
    (tmp_path / "text").write_text(TEXT)
    for boundary in ("document", "line"):
        model(boundary).save(tmp_path / boundary)
    told = json.loads(run("eval", tmp_path / "line", tmp_path / "text", "--json")[1])["models"][0]
    code, out, err = run("eval", tmp_path / "line", tmp_path / "text")
    assert code == 0
    assert "151 ends of lines" in out
    share = 100 * told["ends_nats"] / told["nats"]
    assert f"Each line is a unit, and that it ends is predicted too: {100 * 151 / told['tokens']:.1f}% of the" in err
    assert f"{share:.1f}% of the nats" in err
    assert "--no-end leaves them out" in err
    assert "hint" not in err
    _, out, err = run("eval", tmp_path / "line", tmp_path / "text", "--no-end")
    assert "the ends of lines left out" in out
    assert "--no-end" not in err
    _, _, err = run("eval", tmp_path / "document", tmp_path / "text")
    average = f"151 lines of {len(TEXT) / 151:.0f} bytes on average"
    assert f"hint: {average}, 99% of them ending as sentences do; if each is a unit of its own, --boundary line" in err
    both = evaluate_texts([model("line"), model("line", 2)], Reading([tmp_path / "text"], ends=False))[0]
    assert [row.evaluation.ends for row in both.rows] == [0, 0]
