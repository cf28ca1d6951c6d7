"""The archive holds exactly the logs of 2023, whole, and only they are gone."""

import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, refuse, require


def check(work: Submission) -> None:
    old = ["logs/app-2023-01.log", "logs/app-2023-11.log", "logs/db-2023-06.log"]
    work.given_files_kept(but=old)
    for name in old:
        work.absent(name, f"{name} is still there")
    path = work.root / "logs-2023.tar.gz"
    require(path.is_file(), "there is no logs-2023.tar.gz")
    try:
        with tarfile.open(path, "r:gz") as archive:
            members = [member for member in archive.getmembers() if not member.isdir()]
            found = {}
            for member in members:
                content = archive.extractfile(member)
                require(content is not None, f"{member.name} is not a file")
                found[member.name.removeprefix("./")] = content.read() if content else b""
    except (tarfile.TarError, OSError, EOFError) as wrong:
        refuse(f"logs-2023.tar.gz cannot be read: {wrong}")
    require(found == {name: (work.given / name).read_bytes() for name in old}, f"the archive holds {sorted(found)}")


if __name__ == "__main__":
    judge(__file__, check)
