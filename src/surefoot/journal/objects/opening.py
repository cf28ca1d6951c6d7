"""Opens the object store that the setting names: a folder or a bucket."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from surefoot.errors import ConfigError
from surefoot.journal.objects.base import ObjectStore

OBJECTS_REMEDY = "write file:///FOLDER, or s3://BUCKET/PREFIX with the endpoint and keys in AWS_* variables"


def open_objects(address: str) -> ObjectStore:
    parts = urlsplit(address)
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        from surefoot.journal.objects.files import FileObjects

        return FileObjects(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.hostname and not parts.username and not parts.query:
        from surefoot.journal.objects.s3 import S3Objects

        return S3Objects.from_environment(parts.netloc, parts.path.strip("/"))
    raise ConfigError("objects must be the address of a folder or a bucket", remedy=OBJECTS_REMEDY)
