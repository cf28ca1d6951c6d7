import os
import sys

TYPE_CHECKING = False  # the real one costs an import of typing, a quarter of this program's start
if TYPE_CHECKING:
    from surefoot.workspace.inside import supervise
else:
    # Python's -I leaves out a script's own folder, and running the folder itself would cost another ten milliseconds.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    import supervise

os._exit(supervise.main(sys.argv[1:]))  # nothing to tidy up, so no time for it either
