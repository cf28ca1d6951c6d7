"""An S3-compatible server of its own process (moto), and keys for it."""

import subprocess
import sys
from importlib.metadata import version

from support.summary import used_server
from surefoot.journal.objects.s3 import S3Objects
from surefoot.journal.objects.signing import Keys

KEYS = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


class S3Server:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        used_server(f"S3: moto {version('moto')}")
        self.address = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def make_bucket(self, name: str, prefix: str = "") -> S3Objects:
        store = S3Objects(self.address, name, prefix, KEYS)
        store._require(store._send("PUT", "", body=b""), 200)
        return store

    def environ(self) -> dict[str, str]:
        """What a process needs to use a bucket of this server."""
        return {
            "AWS_ACCESS_KEY_ID": KEYS.access_key,
            "AWS_SECRET_ACCESS_KEY": KEYS.secret_key,
            "AWS_ENDPOINT_URL_S3": self.address,
        }

    def stop(self) -> None:
        self._process.communicate("")
