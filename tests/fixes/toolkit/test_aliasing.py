"""Who can see that a tensor became a copy: what shares its memory, who writes into that, and what leaves the function."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, outcome

CHOICE = "y = F.relu(x) if (t > 0).any() else x\n"


def assumed(before: str, after: str, choice: str = CHOICE) -> str:
    """What a choice between `x` and a new tensor assumes, with some lines around it."""
    text = body(f"{before}{choice}{after}").replace(
        "from torch import nn\n", "from torch import nn\nimport torch.nn.functional as F\n"
    )
    made = outcome(text, "XLA105")
    assert made.fix is not None, made.reason
    return made.message


UNSEEN = {
    "what is only read": ("", "return y * 2"),
    "what is read through views": ("", "z = y.view(-1)[:2]\nreturn z.sum()"),
    "what is read by a layer": ("", "return torch.nn.Linear(4, 4)(y)"),
    "a tensor of its own": ("x = x * 2\n", "return y"),
    "a tensor of its own, in place": ("x = x.clone()\n", "y += 1\nreturn y"),
    "a tensor of its own, of which others read": ("x = x.clone()\nz = x.sum() + x.shape[0]\n", "y.add_(z)\nreturn y"),
    "a sum of what is returned": ("", "z = y + 1\nz += 1\nreturn z"),
    "an index": ("", "return n[y.long()]"),
    "a number that is printed": ("", "print(y.shape, len(y))\nreturn -y"),
    "another tensor in place": ("n = n * 2\n", "n += 1\nreturn y @ n"),
    "a name that is bound anew": ("", "z = y * 2\ny = z\ny += 1\nreturn y"),
    "parts that are joined anew": ("", "return torch.cat([y, t])"),
    "a source that is bound anew": ("", "x = x * 2\nx += 1\nreturn y.sum() + x.sum()"),
    "an asked size": ("", "return torch.zeros(y.size(0), y.dim())"),
    "a view of another tensor in place": ("u = t.abs()\nx = x * 2\n", "z = u.view(-1)\nz[0] = 3\nreturn y.sum()"),
    "another attribute in place": ("self.kept = t * 2\nx = x * 2\n", "self.kept.zero_()\nreturn y.sum()"),
    "names that are bound together, of which none is written": ("x = z = x * 2\n", "return y.sum() + z.sum()"),
    "a table of other tensors": ("table = {'t': t}\nx = x * 2\n", "table['t'].zero_()\nreturn y.sum()"),
    "what a function gives of another tensor": ("z = self.net(t)\nx = x * 2\n", "z += 1\nreturn y.sum()"),
    "a source that is read afterwards": ("", "return y * x"),
    "an inner product of the result": ("", 'return torch.einsum("ij,jk->ik", y, t)'),
    "a product of its own": ('x = torch.einsum("ij,jk->ik", x, t)\n', "y += 1\nreturn y"),
}
SEEN = {
    "returned": ("", "return y", "no caller changes what is returned in place"),
    "returned in a tuple": ("", "return t, y", "no caller"),
    "returned as a view": ("", "return y.unsqueeze(0).T", "no caller"),
    "returned as what may be the same": ("", "return y.float()", "no caller"),
    "returned as made contiguous": ("", "return y.contiguous()", "no caller"),
    "returned, its dimensions in another order": ("", 'return torch.einsum("ij->ji", y)', "no caller"),
    "written into": ("", "y += 1\nreturn y.sum()", "changed in place afterwards"),
    "written into by a method": ("", "y.mul_(2)\nreturn y.sum()", "changed in place afterwards"),
    "written into by an index": ("", "y[0] = 3\nreturn y.sum()", "changed in place afterwards"),
    "written into by a function": ("", "torch.relu_(y)\nreturn y.sum()", "changed in place afterwards"),
    "written into by an option": ("", "F.relu(y, inplace=True)\nreturn y.sum()", "changed in place afterwards"),
    "written into by position": ("", "F.relu(y, True)\nreturn y.sum()", "changed in place afterwards"),
    "written into as a result": ("", "torch.add(t, 1, out=y)\nreturn y.sum()", "changed in place afterwards"),
    "written into through a view": ("", "v = y.view(-1)\nv[0] = 3\nreturn y.sum()", "changed in place afterwards"),
    "written into through rows": ("", "for row in y:\n    row += 1\nreturn y.sum()", "changed in place afterwards"),
    "written into through a part": ("", "y[0].zero_()\nreturn y.sum()", "changed in place afterwards"),
    "a tensor of its own that another name holds": (
        "x = x.clone()\nz = x\n",
        "y += 1\nreturn y * z",
        "changed in place afterwards",
    ),
    "a tensor of its own that is kept": (
        "x = x.clone()\nself.kept = x\n",
        "y += 1\nreturn y.sum()",
        "changed in place",
    ),
    "stored": ("", "self.last = y\nreturn y.sum()", "what takes `y` does not change it in place"),
    "collected": ("", "kept = []\nkept.append(y)\nreturn kept[0].sum()", "what takes `y`"),
    "passed on": ("", "self.net(y)\nreturn y.sum()", "what takes `y`"),
    "passed to an activation": ("", "return torch.nn.ReLU(inplace=True)(y).sum()", "what takes `y`"),
    "read by a nested function": ("", "def g():\n    return y\nreturn g().sum()", "what takes `y`"),
    "a source that is written into": ("", "x += 1\nreturn y.sum()", "`x` is not changed in place afterwards"),
    "a view of the source that is written into": (
        "v = x.view(-1)\n",
        "v[0] = 3\nreturn y.sum()",
        "`v` is not changed in place afterwards",
    ),
    "another argument that is written into": ("", "n += 1\nreturn y @ n", "`n` is not changed in place"),
    "a view of another argument": ("", "z = t.view(-1)\nz[0] = 3\nreturn y.sum()", "is not changed in place"),
    "names that are bound together": ("x = z = x * 2\n", "z += 1\nreturn y.sum()", "`z` is not changed in place"),
    "a table": ("x = x * 2\ntable = {'x': x}\n", "table['x'].zero_()\nreturn y.sum()", "`table` is not changed"),
    "a tuple": ("x = x * 2\npair = (x, t)\n", "pair[0].zero_()\nreturn y.sum()", "`pair` is not changed"),
    "an attribute": ("x = x * 2\nself.kept = x\n", "self.kept.zero_()\nreturn y.sum()", "`self.kept` is not changed"),
    "what a function gives": ("x = x * 2\nz = self.net(x)\n", "z += 1\nreturn y.sum()", "`z` is not changed in place"),
    "a source of a view": ("z = t\nt = t.view(-1)\nx = t\n", "z += 1\nreturn y.sum()", "`z` is not changed in place"),
}


@pytest.mark.parametrize(("before", "after"), UNSEEN.values(), ids=UNSEEN)
def test_nobody_sees_a_copy(before: str, after: str) -> None:
    told = assumed(before, after)
    assert "in place" not in told and "caller" not in told


@pytest.mark.parametrize(("before", "after", "told"), SEEN.values(), ids=SEEN)
def test_somebody_may_see_a_copy(before: str, after: str, told: str) -> None:
    assert told in assumed(before, after)
