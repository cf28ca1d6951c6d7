import os
import sys

TYPE_CHECKING = False  # importing typing for the real one would take a quarter of this program's start-up time
if TYPE_CHECKING:
    from surefoot.workspace.process.supervisor import supervise
else:
    # Python's -I leaves the script's folder off the path, and running the folder itself would cost ten milliseconds.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    import supervise

os._exit(supervise.main(sys.argv[1:]))  # skips the interpreter's clean-up, which has nothing to do here
