"""Values that are on the host, however they got there: nothing is found where they are read."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from tests.conftest import Findings

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n"

LAST = """
        def pick(a, b, {params}):
            return torch.topk(a + b, k)

        class Model(nn.Module):
            def forward(self, x: torch.Tensor, **options):
                outs = []
                for _ in range(self.depth):
                    x = torch.relu(x)
                    outs += [x, x + 1]
                return pick(*outs[{last}:], **options)
        """
KEPT = """
        def predict(net, loader, on_device):
            net.eval()
            out = np.empty((9, 3))
            {made}
            for i, x in enumerate(loader):
                y = torch.relu(net(x.to("xla")))
                {filled}
            return out
        """
MOVED = """
        def train(net, optimizer, loader):
            for x in loader:
                loss = run(x.to("xla")).sum()
                loss.backward()
                optimizer.step()
                {moved}
        """
SILENT = {
    "a table of either kind, by a flag": KEPT.format(
        made="if on_device: out = torch.empty(9, 3).to('xla')",
        filled="if on_device: out[i : i + 1] = y\n                else: out[i : i + 1] = 0",
    ),
    "a model that is saved from the host": MOVED.format(moved="torch.save(net.cpu().state_dict(), 'net.pt')"),
    "a model that is called": MOVED.format(moved="out = net.cpu()\n                net(x)"),
    "a model that is set to train elsewhere": MOVED.format(moved="net.train()\n                kept = net.cpu()"),
    "what stands behind the last two of a list": LAST.format(last=-2, params="k=5"),
    "the branch for what is no tensor": """
        def checked(value):
            if torch.is_tensor(value):
                return value
            return float(value)
        """,
    "the branch for what is no tensor, by its type": """
        def checked(value: torch.Tensor | float):
            if isinstance(value, torch.Tensor):
                return value
            return float(value)
        """,
    "a name declared as NumPy's": """
        def as_given(data: torch.Tensor | np.ndarray, kind: type):
            return data

        def planes(data: torch.Tensor | np.ndarray):
            plane: np.ndarray = as_given(data, np.ndarray)
            return np.stack([row for row in plane[:3]])
        """,
    "a tuple that is unpacked, of a function that may return a tensor": """
        class Model(nn.Module):
            def prepare(self, frames: int, given: torch.Tensor | None):
                if given is not None:
                    return given
                return torch.zeros(frames), frames, 0

            def forward(self, x: torch.Tensor, frames: int, given: torch.Tensor | None = None):
                latents, count, kept = self.prepare(frames, given)
                if count > 3:
                    return x[:, :kept] + latents
                return x
        """,
    "what a table holds behind a loop over its items": """
        def show(x: np.ndarray):
            found = {"scores": torch.from_numpy(x)}
            for key, value in found.items():
                found[key] = value.numpy()
            return float(found["scores"][0])
        """,
    "a size of a space, which is asked for its shape, or is a list itself": """
        def get_shape(space):
            if type(space).__name__ == "Box":
                return space.shape
            return space

        class Policy:
            def __init__(self, space, agents):
                self.size = get_shape(space)[0]

            def act(self, seen):
                return torch.relu(seen.reshape(-1, 4, self.size))
        """,
    "a parameter that NumPy's functions take": """
        def to_time(self, sigma, sigmas):
            distance = np.log(np.maximum(sigma, 1e-10)) - sigmas[:, np.newaxis]
            return int(np.cumsum((distance >= 0), axis=0).argmax(axis=0).clip(max=sigmas.shape[0] - 2).max())
        """,
    "a parameter of which NumPy's functions take a part": """
        def averages(self, precisions, n):
            return np.nanmean(precisions[n, :, :])
        """,
    "parameters of which NumPy's functions take parts, and what is computed of them": """
        def overlaps(a, b):
            low = np.maximum(a[:, np.newaxis, :2], b[:, :2])
            high = np.minimum(a[:, np.newaxis, 2:], b[:, 2:])
            return np.prod(high - low, axis=2) / np.prod(b[:, 2:] - b[:, :2], axis=1).max().item()
        """,
    "a parameter of which NumPy's functions take each element": """
        def ranks(scores, wanted):
            found = np.zeros(scores.shape[0])
            for index, row in enumerate(scores):
                found[index] = np.argsort(row)[0] == wanted[index]
            return found
        """,
    "parameters that NumPy's functions take in a list": """
        def ranked(queries, galleries):
            whole = np.concatenate([queries, galleries], axis=1)
            return [float(row) for row in whole[: galleries.shape[0]]]
        """,
    "a parameter that NumPy's functions take turned": """
        def turned(points, rotation):
            return [float(row) for row in np.dot(rotation, points.transpose(1, 0))[: points.shape[0]]]
        """,
    "what is computed with an array": """
        def error(pred, true):
            return np.sqrt(np.mean((pred - true) ** 2 / pred.shape[-1], axis=(0, 1)).sum())

        def measure(pred, true):
            return error(np.maximum(pred, 0)[:, 0:3], true[:, 0:3])
        """,
    "positions that NumPy finds on the host": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor):
                kept = torch.from_numpy(np.where(np.ones(x.shape[1]) > 0)[0])
                return x[:, kept]
        """,
    "what arithmetic makes of parameters, by names, for NumPy": """
        def variance(first, second):
            centred = first - first.mean(axis=1, keepdims=True)
            return np.sum(centred**2) + np.trace(second[1:, :])

        def centred(joints):
            middle = (joints[2, :] + joints[3, :]) / 2.0
            return joints - np.expand_dims(middle, axis=0)
        """,
    "elements of a part of a parameter, for NumPy": """
        def matched(anchors, places):
            found = np.zeros((4, anchors.shape[0]))
            for i, row in zip(places, anchors[places]):
                width = row[3] - row[1]
                found[i] = np.log(width / 2)
            return found
        """,
    "parts of a parameter in a list that NumPy takes": """
        def episodes(pack):
            rows = []
            for i in range(pack.shape[0]):
                rows.append(pack[i][:3])
            return np.array(rows)
        """,
    "a parameter that a function of arrays takes": """
        import scipy.ndimage

        def zoomed(volume, factor):
            depth, height, width = volume.shape
            return scipy.ndimage.zoom(volume, factor / depth)
        """,
    "an object of an unknown class that is put on the host": """
        from elsewhere import Body

        def body(theta: torch.Tensor):
            return Body(4).to("cpu").kind
        """,
    "what something unknown makes of host tensors": """
        from elsewhere import Body, measure

        def similarity(first: np.ndarray, second: np.ndarray):
            body = Body(4)
            points = body(torch.from_numpy(first)).points
            return measure(points, torch.from_numpy(second), scale=2.0).item()
        """,
    "an index of more dimensions than a tensor was thought to have": """
        def hardest(scores: torch.Tensor, places: list[torch.Tensor]):
            order = scores.sum(0)[0].flatten()[:, 1:].max(1)[0].sort()[1]
            return scores[order]
        """,
    "where nothing sets a device": """
        DEVICE = None

        def zeros(n: int):
            return torch.zeros(n, device=DEVICE)

        def total(n: int, x: torch.Tensor):
            global other
            return x[: int(zeros(n).sum().item())]
        """,
    "the fans of a weight": """
        def initialize(layer: nn.Linear):
            fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
            return 1 / np.sqrt(fan_in)
        """,
    "an object whose inverse takes arguments": """
        def griffin_lim(magnitudes, transform, turns: int):
            signal = transform.inverse(magnitudes).squeeze(1)
            return [float(part) for part in signal][:turns]
        """,
    "files that change images": """
        from torchvision.transforms import functional as F

        class CenterCrop:
            def __call__(self, image, target):
                target["area"] = target["boxes"].reshape(-1, 2, 2).prod(1)
                keep = target["area"] > 0
                return F.center_crop(image, (4, 4)), target["boxes"][keep]
        """,
    "what runs before the program is left": """
        import sys

        class Model(nn.Module):
            def forward(self, x: torch.Tensor, checked: bool):
                if not checked:
                    print(x)
                    sys.exit(1)
                return x
        """,
    "a parameter of which NumPy's functions take a part of a part": """
        def averages(self, precisions, n):
            first = precisions[:, 0]
            return float(np.max(precisions[n][:, 2])) + first.mean().item()
        """,
    "numbers that an image transform draws": """
        from torchvision import transforms

        class Crop(transforms.RandomResizedCrop):
            @staticmethod
            def get_params(image, scale):
                height, width = image.shape[-2:]
                side = int((height * width * torch.empty(1).uniform_(*scale)).sqrt().item())
                return int(torch.randint(0, height - side + 1, (1,))), side
        """,
    "numbers that a transform of the newer kind draws": """
        from torchvision.transforms import v2

        class Noise(v2.Transform):
            def transform(self, image: torch.Tensor, params):
                return image if torch.rand(1).item() < 0.5 else image + image.std().item()
        """,
    "rows that a data set of images chooses": """
        from torchvision.datasets import CIFAR10

        class Kept(CIFAR10):
            def choose(self, labels: torch.Tensor):
                return [i for i, label in enumerate(labels) if label.item() < 5]
        """,
    "files of images": """
        import cv2

        class Pad:
            def __call__(self, image, label):
                label[label > 3] = 0
                return cv2.copyMakeBorder(image, 1, 1, 1, 1), cv2.copyMakeBorder(label[:, None], 1, 1, 1, 1)
        """,
    "what is made an array of, and not moved, in a program that has run on a GPU": """
        def save(batch, output):
            centre = batch["meta"]["centre"].detach().numpy()
            return centre, batch["meta"]["scale"].numpy().max()

        def train(model, loader, optimizer, device):
            for batch in loader:
                output = model(batch["input"].to(device))
                output.sum().backward()
                optimizer.step()
                save(batch, output)
        """,
    "what makes a batch of texts": """
        class Collator:
            def __call__(self, labels):
                labels[labels > 3] = 0
                return self.fill(labels)

            def fill(self, labels):
                return [self.tokenizer.get_special_tokens_mask(one) for one in labels.tolist()]
        """,
    "a tensor that is made right where it is moved to the host": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, plot):
                plot.line(torch.zeros(1, 3).cpu(), torch.arange(3).unsqueeze(0).float().to("cpu"))
                return x
        """,
    "the size of an image": """
        from torchvision.transforms import functional as F

        def crop(image: torch.Tensor):
            width, height = F._get_image_size(image)
            return image[:, : int(height * 0.5), : int(width * 0.5)]
        """,
    "a tensor made in host memory, of another type": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, n: int):
                last = torch.arange(n).to(torch.float32).max().item()
                return x * last * torch.Tensor([1.0, 2.0]).max().item()
        """,
    "what a constructor of host tensors makes": """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, starts: list[int]):
                bounds = torch.Tensor(starts).long()
                return x[: int((bounds > 3).nonzero()[:, 0].max())]
        """,
}

FOUND = {
    "a table of the host": (KEPT.format(made="pass", filled="out[i] = y"), ["XLA302"]),
    "a tensor of which only that it is copied is known": (MOVED.format(moved="kept = net.cpu()"), ["XLA302"]),
    "a tensor whose copy is looked at": (MOVED.format(moved="net.cpu().numpy()"), ["XLA302"]),
    "a tensor beside a model": (MOVED.format(moved="run(net.cpu())"), ["XLA302"]),
    "a size that is a tensor, or a number that was read from one": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, few: bool):
                size = x.max() if few else torch.relu(x).sum()
                return x.reshape(-1, size)
        """,
        ["XLA206"],
    ),
    "what a table holds in and behind a loop that copies all of it": (
        """
        def show(x: torch.Tensor):
            found = {"scores": torch.relu(x), "boxes": torch.tanh(x)}
            for key in found:
                found[key] = found[key].detach().cpu().numpy()
            return float(found["scores"][0]), int(found["boxes"][0])
        """,
        ["XLA302"],
    ),
    "what a table holds behind a loop that copies some of it": (
        """
        def show(x: torch.Tensor, names):
            found = {"scores": torch.relu(x), "boxes": torch.tanh(x)}
            for key in found:
                if key in names:
                    found[key] = found[key].cpu()
            for key in names:
                found[key] = found[key].cpu()
            return found["scores"].sum().item()
        """,
        ["XLA302", "XLA301"],
    ),
    "what a table holds behind a loop that may end before all is copied": (
        """
        def show(x: torch.Tensor, last):
            found = {"scores": torch.relu(x)}
            for key in found:
                if key == last:
                    break
                found[key] = found[key].cpu()
            return found["scores"].sum().item()
        """,
        ["XLA302", "XLA301"],
    ),
    "the branch for a tensor": (
        """
        def checked(value: torch.Tensor | float):
            if torch.is_tensor(value):
                return float(value.sum())
            return value
        """,
        ["XLA301"],
    ),
    "a part of a parameter that NumPy takes, on a device": (
        """
        def averages(precisions, n):
            mean = np.nanmean(precisions[n, :].cpu())
            return mean if precisions.device is None else precisions[:, None].mean().item()
        """,
        ["XLA302", "XLA301"],
    ),
    "an element of a parameter that NumPy takes, on a device": (
        """
        def ranks(self, scores):
            return [np.argsort(row) for row in scores.detach()]
        """,
        ["XLA302"],
    ),
    "what arithmetic makes of a tensor on a device, by a name": (
        """
        def variance(x):
            centred = x.detach() - 3
            return np.sum(centred**2)
        """,
        ["XLA302"],
    ),
    "a part of a parameter by a name, brought from a device": (
        """
        def flipped(images):
            part = images[:, 1:]
            return np.copy(part.cpu().numpy()[:, ::-1])
        """,
        ["XLA302"],
    ),
    "where a function sets the device": (
        """
        DEVICE = None

        def set_device(name: str):
            global DEVICE
            DEVICE = torch.device(name)

        def from_numpy(array: np.ndarray):
            return torch.from_numpy(array).to(DEVICE)

        def total(array: np.ndarray, x: torch.Tensor):
            return from_numpy(array).sum().item()
        """,
        ["XLA301"],
    ),
    "an element of what a mask leaves of a vector": (
        """
        def first(x: torch.Tensor, scores: torch.Tensor, k: int):
            places = torch.arange(8, device=x.device)
            places = places[scores > 0.5]
            return x[places[k]]
        """,
        ["XLA201", "XLA208"],
    ),
    "a name that held a part of a parameter": (
        """
        def mean(x, table):
            part = x[:, 0]
            part = table.rows
            np.sum(part)
            return x[:, 1].sum().item()
        """,
        ["XLA301"],
    ),
    "an element of a list that NumPy does not take": (
        """
        def mean(x, table):
            rows = []
            rows.append(x[:, 0])
            table.sum(rows)
            return x[:, 1].sum().item()
        """,
        ["XLA301"],
    ),
    "what an unknown function makes, that is put on the host": (
        """
        from elsewhere import encode

        def code(theta: torch.Tensor):
            return encode(theta).to("cpu")
        """,
        ["XLA302"],
    ),
    "what something unknown makes of a tensor and one of the host": (
        """
        from elsewhere import measure

        def similarity(first: torch.Tensor, second: np.ndarray):
            return measure(first, torch.from_numpy(second)).item()
        """,
        ["XLA301"],
    ),
    "what something unknown makes of host tensors, moved to the device": (
        """
        from elsewhere import measure

        def similarity(first: torch.Tensor, second: np.ndarray):
            return measure(torch.from_numpy(second)).to(first.device).sum().item()
        """,
        ["XLA301"],
    ),
    "what is computed with one of NumPy's numbers": (
        """
        def scaled(self, x, weights):
            y = x.unsqueeze(0) * np.mean(weights)
            return y.sum().item()
        """,
        ["XLA301"],
    ),
    "a parameter that goes to NumPy from the device": (
        """
        def mean(x):
            return np.mean(x.detach().cpu().numpy())
        """,
        ["XLA302"],
    ),
    "a copy that is cut by a tensor's value": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, n: torch.Tensor):
                return x.cpu()[:n]
        """,
        ["XLA301", "XLA302"],
    ),
    "a tensor that is unpacked": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor):
                first, second = x.sum(dim=1)
                if first > second:
                    return x
                return -x
        """,
        ["XLA107", "XLA101"],
    ),
    "a class of our own that crops on the device": (
        """
        class Crop(nn.Module):
            def forward(self, image: torch.Tensor):
                side = int((image.mean() * 8).item())
                return image[:, :side]
        """,
        ["XLA301"],
    ),
    "what is made an array of after it is moved": (
        """
        def save(batch):
            return batch["meta"]["centre"].cpu().numpy()

        def train(model, loader, optimizer, device):
            for batch in loader:
                model(batch["input"].to(device)).sum().backward()
                optimizer.step()
                save(batch)
        """,
        ["XLA302"],
    ),
    "what is made an array of wherever it is": (
        """
        def save(batch, device):
            return batch["meta"].to(device)["centre"].detach().numpy(force=True)
        """,
        ["XLA302"],
    ),
    "what is made an array of, in a program that names no device": (
        """
        def train(model, loader, optimizer, device):
            for batch in loader:
                loss = model(batch).sum()
                loss.backward()
                optimizer.step()
                print(loss.detach().numpy())
        """,
        ["XLA302"],
    ),
    "what is surely a tensor of the device": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor):
                return x.numpy()
        """,
        ["XLA302"],
    ),
    "tensors that are made of the device's, where they are moved to the host": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, plot):
                plot.line(torch.zeros_like(x).cpu())
                return x
        """,
        ["XLA302"],
    ),
    "a model in a file of images": (
        """
        import cv2

        class Detector(nn.Module):
            def forward(self, x):
                return x

            def detect(self, images: torch.Tensor):
                scores = torch.relu(images).squeeze(0)
                return cv2.resize(scores[scores > 0.5].cpu().numpy(), (4, 4))
        """,
        ["XLA201", "XLA302"],
    ),
    "a matrix that is inverted": (
        """
        def solve(matrix, other):
            return matrix.inverse() @ other
        """,
        ["XLA305"],
    ),
    "what a branch prints that goes on": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, shown: bool):
                if shown:
                    print(x)
                return x
        """,
        ["XLA303"],
    ),
    "one of the last three of a list": (LAST.format(last=-3, params="k=5"), ["XLA206"]),
    "a tensor moved to the device": (
        """
        class Model(nn.Module):
            def forward(self, x: torch.Tensor, n: int):
                return x * torch.arange(n).to(x.device).max().item()
        """,
        ["XLA301"],
    ),
}


def test_what_is_likely_a_tensor_is_no_error_where_nothing_refuses_it(findings: Findings) -> None:
    body = "x: torch.Tensor):\n        return np.abs(x)\n"
    module, plain = f"class M(nn.Module):\n    def forward(self, {body}", f"class M:\n    def apply(self, {body}"
    assert findings(HEAD + module, "torch_xla") == [("XLA302", "error")]
    assert findings(HEAD + plain, "torch_xla") == [("XLA302", "warning")]


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_host_values_may_be_read(loud: Callable[[str, str], list[str]], code: str) -> None:
    assert loud(HEAD + dedent(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "codes"), FOUND.values(), ids=FOUND)
def test_tensors_on_the_device_may_not(loud: Callable[[str, str], list[str]], code: str, codes: list[str]) -> None:
    assert set(loud(HEAD + dedent(code), "torch_xla")) <= set(codes)
    assert codes[-1] in loud(HEAD + dedent(code), "torch_xla")
