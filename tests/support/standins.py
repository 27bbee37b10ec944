"""Stand-ins for packages that embed: the calls that the documentation makes, with vectors of the right size.

Real ones would download a model or ask a service, which no test may do.
"""

import sys
import types
import zlib

import numpy as np


def vector(item, size):
    """The same vector for the same text or picture."""
    content = item.encode() if isinstance(item, str) else item.tobytes()
    return np.random.default_rng(zlib.crc32(content)).standard_normal(size).astype(np.float32)


class SentenceTransformer:
    def __init__(self, name):
        self.size = 512 if name.startswith("clip") else 384

    def encode(self, inputs, batch_size=32):
        return np.stack([vector(item, self.size) for item in inputs])


class OpenAI:
    def __init__(self):
        self.embeddings = types.SimpleNamespace(create=self._create)

    @staticmethod
    def _create(model, input):
        assert model == "text-embedding-3-small"
        data = [types.SimpleNamespace(embedding=vector(text, 1536).tolist()) for text in input]
        return types.SimpleNamespace(data=data)


def put_in_place(monkeypatch, folder):
    """The packages, and a folder of photos."""
    for name, offered in (("sentence_transformers", SentenceTransformer), ("openai", OpenAI)):
        module = types.ModuleType(name)
        setattr(module, offered.__name__, offered)
        monkeypatch.setitem(sys.modules, name, module)
    from PIL import Image

    (folder / "photos").mkdir()
    for i in range(12):
        pixels = np.random.default_rng(i).integers(0, 255, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "photos" / f"{i}.jpg")
