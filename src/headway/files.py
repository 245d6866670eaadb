"""Files: written whole or not at all, and read with one clear line for what is wrong."""

from headway.reading import is_file as is_file
from headway.reading import parsed as parsed
from headway.reading import read_bytes as read_bytes
from headway.training.files import clear_content_errors as clear_content_errors
from headway.training.files import clear_io_errors as clear_io_errors
from headway.training.files import is_there as is_there
from headway.training.files import read_json as read_json
from headway.training.files import write_json as write_json
from headway.training.files import write_whole as write_whole
