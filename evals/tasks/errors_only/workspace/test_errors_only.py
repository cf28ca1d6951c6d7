import os
import subprocess
import sys
import tempfile
import unittest

LOG = """\
2025-05-01 10:00 INFO api started
2025-05-01 10:01 ERROR mail refused
    at send (line 3)
    at run (line 9)
2025-05-01 10:02 INFO api says ERROR
    no error here
2025-05-01 10:03 ERROR api timed out
"""


class ErrorsOnlyTest(unittest.TestCase):
    def test_errors_only(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "a.log"), os.path.join(folder, "b.log")
            with open(source, "w") as file:
                file.write(LOG)
            subprocess.run([sys.executable, "errors_only.py", source, target], check=True)
            with open(target) as file:
                lines = file.read().splitlines()
        self.assertEqual(lines, [LOG.splitlines()[n] for n in (1, 2, 3, 6)])
