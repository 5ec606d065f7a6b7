"""Programs as people have them, whose compilations, reads, fallbacks and graph breaks are counted as those of torch_targets.py are."""

import torch
from torch import nn
from torch.nn import functional

END = 3


# xlalint: inputs(tokens="i64[2,4] 0..9")
class Generate(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10, 8), nn.Linear(8, 10)

    def forward(self, tokens):
        for _ in range(3):
            following = self.head(self.embed(tokens).mean(1)).argmax(-1)
            tokens = torch.cat([tokens, following[:, None]], 1)
            if (following == END).all():
                break
        return tokens


# xlalint: inputs(x="f32[8,4]", y="i64[8] 0..2")
class TrainStep(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

    def forward(self, x, y):
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


# xlalint: inputs(x="f32[8,3,6,6]")
class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x):
        return self.norm(self.conv(x)).relu()


# xlalint: inputs(x="f32[8,4]")
class Dropped(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.linear(x))


# xlalint: inputs(k="f32[2,1,4]")
class StaticCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 16, 4))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def forward(self, k):
        self.cache.index_copy_(1, self.position, k)
        self.position.add_(1)
        return self.cache.sum(1)


# xlalint: inputs(k="f32[2,1,4]")
class GrowingCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, k):
        self.cache = k if self.cache is None else torch.cat([self.cache, k], 1)
        return self.cache.sum(1)


# xlalint: inputs(x="f32[8,4]")
class RaggedLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        batch = x[:5] if self.calls % 4 == 0 else x
        return (batch * 2).mean(0)


# xlalint: inputs(x="f32[8,4]")
class Schedule(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * (0.1 / self.step) + 1


# xlalint: inputs(x="f32[8,4]", y="f32[8,4]")
def logged(x, y):
    loss = functional.mse_loss(x, y)
    print(f"loss {loss:.3f}")
    return {"loss": loss, "parts": (x.mean(), [y.std(), x.abs().max()])}


# xlalint: inputs(logits="f32[8,4]", y="i64[8] 0..3")
def accuracy(logits, y):
    correct = (logits.argmax(-1) == y).sum().item()
    return correct / len(y)


# xlalint: inputs(x="f32[8,4]")
class EarlyStop(nn.Module):
    def __init__(self):
        super().__init__()
        self.best = float("inf")

    def forward(self, x):
        loss = x.square().mean()
        if loss < self.best:
            self.best = loss.item()
        return loss


# xlalint: inputs(x="f32[8]")
def through_numpy(x):
    values = x.detach().cpu().numpy()
    return x + torch.from_numpy(values.clip(0, 1)).to(x.device)


# xlalint: inputs(x="f32[8,4]", ids="i64[8] 0..4")
def segments_of_value(x, ids):
    return torch.zeros(int(ids.max()) + 1, 4, device=x.device).index_add_(0, ids, x)


# xlalint: inputs(x="f32[8,4]", ids="i64[8] 0..4")
def segments(x, ids):
    return torch.zeros(5, 4, device=x.device).index_add_(0, ids, x)


# xlalint: inputs(x="f32[8,4]")
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        chosen, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = torch.where(chosen == number)[0]
            out[rows] = expert(x[rows])
        return out


# xlalint: inputs(x="f32[8,4]", lengths="i64[2] 4..4")
def split_by_lengths(x, lengths):
    return [part.sum(0) for part in x.split(lengths.tolist())]


# xlalint: inputs(boxes="f32[6,2]", scores="f32[6]")
def suppressed(boxes, scores):
    order, kept = scores.argsort(descending=True), []
    while order.numel() > 0:
        kept.append(order[0])
        far = (boxes[order] - boxes[order[0]]).abs().sum(1) > 1
        order = order[far]
    return torch.stack(kept)


# xlalint: inputs(scores="f32[2,3,5]", past="f32[2,3]")
def beam(scores, past):
    total = (past[..., None] + scores.log_softmax(-1)).flatten(1)
    best, index = total.topk(3)
    return best, index // 5, index % 5


# xlalint: inputs(x="f32[8,4]")
class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        self.zero_grad()
        self.linear(x).square().sum().backward()
        return nn.utils.clip_grad_norm_(self.parameters(), 1.0)
