"""What ports of training scripts to TorchTPU need, and what hurts there: what 42 scripts hold, told by reading them.

A line that ends in `#!` must be found as a warning or an error, and no other line may be.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

HEAD = (
    "import argparse\nimport torch\nfrom torch import nn, optim\nfrom torch.nn import functional as F\n"
    "from torch.utils.data import DataLoader\n"
    "parser = argparse.ArgumentParser()\nparser.add_argument('--backend', default='nccl')\nargs = parser.parse_args()\n"
)
SCRIPTS = {
    "an image classifier: the device, reads for a progress bar, a partial batch": """
        device = "cuda" if torch.cuda.is_available() else "cpu"  #!
        net = nn.Linear(8, 4).to(device)
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        loader = DataLoader(data, batch_size=128, shuffle=True)  #!

        def train():
            net.train()
            right = total = 0
            for inputs, targets in loader:
                inputs, targets = inputs.to(device), targets.to(device)
                optimizer.zero_grad()
                outputs = net(inputs)
                loss = F.cross_entropy(outputs, targets)
                loss.backward()
                optimizer.step()
                total += loss.item()  #!
                right += outputs.max(1)[1].eq(targets).sum().item()  #!
                print(total, right)

        for epoch in range(200):
            train()
        """,
    "a recurrent classifier on the accelerator: reads now and then are information, those of an evaluation are not": """
        device = torch.accelerator.current_accelerator()
        model = nn.LSTM(28, 64, batch_first=True).to(device)
        optimizer = optim.Adadelta(model.parameters())
        loader = DataLoader(data, batch_size=64, drop_last=True)

        def train():
            for index, (rows, target) in enumerate(loader):
                rows, target = rows.to(device), target.to(device)
                optimizer.zero_grad()
                loss = F.nll_loss(model(rows)[0][:, -1], target)
                loss.backward()
                optimizer.step()
                if index % args.interval == 0:
                    print(f"{index}: {loss.item():.4f}")

        def test():
            model.eval()
            lost = 0
            with torch.no_grad():
                for rows, target in loader:
                    rows, target = rows.to(device), target.to(device)
                    lost += F.nll_loss(model(rows)[0][:, -1], target).item()  #!
            print(lost)

        for epoch in range(9):
            train()
            test()
        """,
    "an agent: its action is read at each step": """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")  #!
        actor = nn.Linear(4, 2).to(device)

        class Agent:
            def act(self, state):
                state = torch.FloatTensor(state.reshape(1, -1)).to(device)
                return actor(state).cpu().data.numpy().flatten()  #!

        agent = Agent()
        optimizer = optim.Adam(actor.parameters())
        for turn in range(1000):
            state = environment.step(agent.act(state))
            loss = actor(torch.as_tensor(state, device=device)).mean()
            loss.backward()
            optimizer.step()
        """,
    "a trainer of several processes: mixed precision by the device's type": """
        class Trainer:
            def __init__(self, model, rank):
                accelerator = torch.accelerator.current_accelerator()
                self.device = torch.device(f"{accelerator}:{rank}")
                self.model = model.to(rank)
                self.scaler = torch.amp.GradScaler(self.device.type)  #!

            def run(self, source):
                with torch.amp.autocast(device_type=self.device.type, dtype=torch.float16):  #!
                    return self.model(source)

        trainer = Trainer(nn.Linear(2, 2), 0)
        trainer.run(torch.ones(2, 2))
        """,
    "a vocoder: a device by number, a process count": """
        def train(rank):
            torch.cuda.manual_seed(1)
            device = torch.device("cuda:{:d}".format(rank))  #!
            nn.Linear(2, 2).to(device)
            torch.cuda.empty_cache()

        def main():
            args.processes = 0
            if torch.cuda.is_available():
                torch.cuda.manual_seed(1)
                args.processes = torch.cuda.device_count()  #!
            train(0)

        main()
        """,
    "contrastive learning: a GPU by its index, scaling and autocast of CUDA's": """
        if not args.disable and torch.cuda.is_available():
            args.device = torch.device("cuda")  #!
        else:
            args.device = torch.device("cpu")
        with torch.cuda.device(args.index):  #!
            with torch.cuda.amp.autocast():  #!
                pass
        """,
    "a language model's trainer, whose device may be named": """
        class Trainer:
            def __init__(self, config, model):
                if config.device == "auto":
                    self.device = "cuda" if torch.cuda.is_available() else "cpu"  #!
                else:
                    self.device = config.device
                self.model = model.to(self.device)

        Trainer(args, nn.Linear(2, 2))
        """,
    "processes of an option's backend, and a checkpoint of a GPU": """
        torch.distributed.init_process_group(backend=args.backend)  #!
        torch.load(args.resume, map_location="cuda:0")  #!
        torch.load(args.resume, map_location="cpu")
        """,
    "sequences in double precision, with LBFGS": """
        model = nn.Linear(2, 2).double()
        optimizer = optim.LBFGS(model.parameters(), lr=0.8)
        rows = torch.ones(4, 2, dtype=torch.double)
        for step in range(15):
            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(model(rows), rows)
                print(loss.item())  #!
                loss.backward()
                return loss
            optimizer.step(closure)  #!
        """,
    "a language model's trainer by torchrun: a device for each rank, its type by its name, a batch's loss at the last step": """
        import os
        several = int(os.environ.get("RANK", -1)) != -1
        device = "cuda"  #!
        if several:
            torch.distributed.init_process_group(backend="nccl")  #!
            rank = int(os.environ["LOCAL_RANK"])
            device = f"cuda:{rank}"  #!
            torch.cuda.set_device(device)  #!
        kind = "cuda" if "cuda" in device else "cpu"  #!
        model = nn.Linear(4, 4)
        model.to(device)
        optimizer = optim.AdamW(model.parameters())
        for step in range(1000):
            last = step == 999
            with torch.autocast(device_type=kind, dtype=torch.bfloat16):
                loss = model(torch.ones(2, 4).to(device)).square().mean()
            loss.backward()
            optimizer.step()
            print(f"{step}: {loss.item():.4f}")  #!
            if step > 0 and (step % 500 == 0 or last):
                torch.save({"model": model.state_dict(), "loss": loss.item()}, "latest.pt")
        """,
    "a diffusion model's trainer: ranks among the GPUs": """
        def main():
            assert torch.cuda.is_available(), "needs a GPU"
            torch.distributed.init_process_group("nccl")  #!
            rank = torch.distributed.get_rank()
            device = rank % torch.cuda.device_count()  #!
            torch.cuda.set_device(device)  #!
            nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to(device), device_ids=[rank])

        main()
        """,
    "two networks against each other, with types of tensors": """
        cuda = True if torch.cuda.is_available() else False  #!
        generator = nn.Linear(4, 4)
        if cuda:
            generator.cuda()  #!
        Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor  #!
        """,
    "a contrastive loss, made where its features are": """
        class Loss(nn.Module):
            def forward(self, features):
                device = torch.device("cuda") if features.is_cuda else torch.device("cpu")  #!
                return (features @ features.T * torch.eye(features.shape[0]).to(device)).mean()

        Loss()(torch.ones(2, 2))
        """,
    "torch_xla's own: a loader, a launcher, ranks, a meter": """
        import torch_xla
        import torch_xla.core.xla_model as xm
        import torch_xla.distributed.parallel_loader as pl
        from torch_xla import runtime as xr

        def train(index):
            torch.distributed.init_process_group("xla", init_method="xla://")  #!
            device = torch_xla.device()  #!
            model = nn.Linear(2, 2).to(device)
            optimizer = optim.SGD(model.parameters(), lr=0.1 * xr.world_size())  #!
            meter = xm.RateTracker()  #!
            for x, y in pl.MpDeviceLoader(batches, device):  #!
                F.mse_loss(model(x), y).backward()
                xm.optimizer_step(optimizer)  #!
                meter.add(2)

        torch_xla.launch(train)  #!
        """,
}


@pytest.mark.parametrize("code", SCRIPTS.values(), ids=SCRIPTS)
def test_ports(code: str) -> None:
    text = HEAD + dedent(code).lstrip("\n")
    report = check_text(text, "script.py", Settings(target="torch_tpu", python=None))
    assert not report.failures
    marked = {row for row, line in enumerate(text.splitlines(), 1) if line.endswith("#!")}
    assert {finding.location.row for finding in report.findings} == marked
