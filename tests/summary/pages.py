"""A distribution with a diff, in which everything stands that a page could stumble over."""

from __future__ import annotations

from npu_summary import page

from .samples import Json, change, distribution, file, klass, typed

HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror="document.title=1">&amp;'
WHY = f"昇腾上更快 {HOSTILE} \x1b[2J\u202e"
DIFF = f"""\
diff --git a/verl/x.py b/verl/x.py
--- a/verl/x.py
+++ b/verl/x.py
@@ -1,4 +1,5 @@
 import os
-device = "cuda"
+device = name()  # {HOSTILE}
+seed = "größe 昇腾 \x00"
 def f(): ...
-end
\\ No newline at end of file
+end
diff --git a/verl/new file.py b/verl/new file.py
new file mode 100644
--- /dev/null
+++ b/verl/new file.py
@@ -0,0 +1,3 @@
+import re
+diff --git a/not b/one
+def g(): ...\r
diff --git a/verl/empty.py b/verl/empty.py
new file mode 100644
diff --git a/verl/gone.py b/verl/gone.py
deleted file mode 100644
--- a/verl/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-{"very_long_name" * 40}
-\x1b\u202e
""".replace("\x00", "\x07").encode()


def sample() -> Json:
    """Return the changes that `DIFF` belongs to."""
    new = {"operation": "file", "why": "operators of its own", "line": 3}
    files = [
        file(
            "verl/x.py",
            [klass("A", [change("replaced", "method", "run", operation="wrapped", why=WHY, line=4)])],
            [
                change("added", "import", "seed", why="needed by f", line=3, affects="overrides <b>`B.f`"),
                change("replaced", "attribute", "device", operation="edited", why=WHY, drop_when="#1", line=2),
            ],
        ),
        file(
            "verl/new file.py",
            [],
            [change("added", "import", "re", **new), change("added", "method", "g", **new)],
            "added",
        ),
        file("verl/empty.py", [], [change("added", "file", "empty.py", operation="file")], "added"),
        file("verl/gone.py", [], [change("deleted", "method", f"f{HOSTILE}", operation="deleted")], "deleted"),
    ]
    made = distribution("verl", files, [{"path": "recipe/x.py", "symbol": "f", "operation": "wrapped", "why": WHY}])
    made["assigned"] = [{"when": "vLLM is started", "what": ["vllm.x:C.f", HOSTILE], "why": WHY, "overlay": "verl"}]
    made["upstream"] |= {"repository": "javascript:alert(1)", "tag": "v1.0"}
    return made


def rendered() -> bytes:
    """Return its page."""
    changes = typed(sample())[0]
    return page.render([(changes, page.parse(DIFF, changes))])
