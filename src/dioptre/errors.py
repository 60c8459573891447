"""What can go wrong that its user can mend, as one tree.

    DioptreError(ValueError)      everything below: one sentence with the value, and what was expected
    ├── InputError                an array, a number, a region, a position or a setting that cannot be used
    ├── FileError                 a file or folder that cannot be read, understood, resumed or written
    │   ├── StackFileError        pictures of a stack, or the positions that go with them
    │   ├── MapFileError          a depth or confidence map
    │   ├── CaptureFileError      a capture of a data set
    │   └── ArchiveError          an archive of captures that is damaged: nothing after the damage can be read
    ├── MethodError               there is no such method, or it cannot see this stack
    ├── NetworkError              a network's file, or its answer, cannot be used
    ├── CameraError               a camera or its lens did not do what it was told
    │   └── CameraTimeoutError    ... in time (also a TimeoutError)
    └── MissingExtraError         a library that an extra brings is not there (also an ImportError)

The command line prints these and OSError as one sentence, exit code 2. Any other exception is a fault of
dioptre's own: exit code 70, with its traceback.
"""


class DioptreError(ValueError):
    """Something that the user of dioptre can mend; the message says what, with the value and the file."""


class InputError(DioptreError):
    """An array, a number, a region, a position or a setting that cannot be used."""


class FileError(DioptreError):
    """A file or folder that cannot be read, understood, resumed or written."""


class StackFileError(FileError):
    """Pictures of a stack, or the positions that go with them, that cannot be used."""


class MapFileError(FileError):
    """A depth or confidence map that cannot be used."""


class CaptureFileError(FileError):
    """A capture of a data set that cannot be used."""


class ArchiveError(FileError):
    """An archive of captures that is damaged, so that nothing after the damage can be read."""


class MethodError(DioptreError):
    """There is no such method, or it cannot see what it was shown."""


class NetworkError(DioptreError):
    """A network's file cannot be used, or what it answered is no probability."""


class CameraError(DioptreError):
    """A camera or its lens did not do what it was told."""


class CameraTimeoutError(CameraError, TimeoutError):
    """A camera or its lens did not answer in time."""


class MissingExtraError(DioptreError, ImportError):
    """A library that is not there, and the extra of dioptre that brings it."""
