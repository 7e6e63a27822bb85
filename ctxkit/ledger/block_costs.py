"""What each block cost over all the requests that it was sent in, for charts and tables of single results.

Pure. What a request paid for each zone of its prompt is spread over the blocks that stood there, as counted
here, and what all requests paid for a kind and tool is then split over its blocks in that proportion, so that
the rows add up to the bill.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ctxkit.ledger._block_tree import BlockTree, Node, Zone, weights
from ctxkit.ledger.attempts import Attempt
from ctxkit.ledger.attribution import UNRECORDED
from ctxkit.ledger.compare import ANSWER_KINDS
from ctxkit.ledger.sent import Placed, Sent
from ctxkit.money.shares import UNIT_USD, Key, apportion, zones
from ctxkit.usage import Charge, Usage

# So much finer than these is no difference between two weights, as adding up rounds.
WEIGHT_STEPS = 2**32
LEAST_TOKENS = 1e-6


@dataclass(frozen=True, slots=True)
class BlockCost:
    """What one block cost over all the requests of its task; or what can't be told of any block.

    A block that was sent again in another place, or edited on its way, or that the model wrote before it was
    sent, is one. What the log of a run does not show, hidden reasoning and other costs without a block have a
    row for their kind and tool, with no `call_id` and no size. `task`, `turn`, `kind`, `tool` and `call_id`
    are the levels of a chart of costs, and rows come in the order in which blocks were first placed.

    Attributes:
        task: The path of the task.
        turn: The turn it was first sent for, or was written in; `None` where it belongs to none.
        kind: What it is.
        tool: The tool's name, for a definition, a call or a result.
        call_id: What ties a result to its call.
        tokens: Its size as counted here, when it was first placed.
        requests: How many requests sent it, of those that were billed or may have been.
        new_tokens: As billed, where it was new in its request.
        carried_tokens: As billed, where it stood in the history before the model last answered.
        output_tokens: As billed, where the model wrote it.
        new_usd: What `new_tokens` cost; `None` where that is unknown.
        carried_usd: What `carried_tokens` cost; `None` where that is unknown.
        output_usd: What `output_tokens` cost; `None` where that is unknown.
    """

    task: str
    turn: int | None
    kind: str
    tool: str | None
    call_id: str | None
    tokens: int
    requests: int
    new_tokens: int
    carried_tokens: int
    output_tokens: int
    new_usd: Decimal | None
    carried_usd: Decimal | None
    output_usd: Decimal | None

    @property
    def cost_usd(self) -> Decimal | None:
        """All that it cost, as far as it is known; `None` where none of it is."""
        known = [cost for cost in (self.new_usd, self.carried_usd, self.output_usd) if cost is not None]
        return sum(known, Decimal(0)) if known else None


def block_costs(attempts: Iterable[Attempt]) -> list[BlockCost]:
    """What every block that was ever placed cost when it was new, carried, and written.

    Args:
        attempts: All attempts of one or more tasks, each task's in the order in which they were booked.
            Where the beginning is missing, what it placed is not known, and its cost falls on other blocks of
            the same kind and tool.

    Returns:
        A row for each block. The rows of a kind and tool add up exactly to the shares of the attempts, in
        tokens and dollars, carried and not carried apart.
    """
    costs = _Costs()
    for attempt in attempts:
        if attempt.outcome != "not_billed":
            costs.add(attempt)
    return costs.rows()


@dataclass(slots=True)
class _Sum:
    """Tokens and dollars that are split over blocks, or were; `None` where nothing of the cost is known."""

    tokens: int = 0
    usd: Decimal | None = None

    def add(self, other: _Sum) -> None:
        self.tokens += other.tokens
        if other.usd is not None:
            self.usd = (self.usd or Decimal(0)) + other.usd

    @property
    def known_usd(self) -> Decimal | None:
        """The cost; what took no tokens cost nothing."""
        return self.usd if self.usd is not None or self.tokens else Decimal(0)


@dataclass(slots=True)
class _Row:
    """A block, however often it was placed."""

    task: str
    turn: int | None
    kind: str
    tool: str | None
    call_id: str | None = None
    digest: str = ""
    tokens: int = 0
    requests: int = 0
    weights: list[float] = field(default_factory=weights)
    paid: tuple[_Sum, _Sum] = field(default_factory=lambda: (_Sum(), _Sum()))
    output: _Sum = field(default_factory=_Sum)

    @property
    def key(self) -> Key:
        return self.kind, self.tool

    def add(self, requests: int, taken: Sequence[float]) -> None:
        self.requests += requests
        self.weights = [before + more for before, more in zip(self.weights, taken, strict=True)]

    def cost(self) -> BlockCost:
        new, carried = self.paid
        return BlockCost(
            self.task,
            self.turn,
            self.kind,
            self.tool,
            self.call_id,
            self.tokens,
            self.requests,
            new.tokens,
            carried.tokens,
            self.output.tokens,
            new.known_usd,
            carried.known_usd,
            self.output.known_usd,
        )


class _Costs:
    """What attempts paid, while they are added."""

    def __init__(self) -> None:
        self._tree: BlockTree[_Row] = BlockTree()
        self._rows: list[_Row] = []
        self._rests: dict[tuple[str, Key, int | None], _Row] = {}
        self._answered: dict[str, list[_Row]] = {}
        self._sums: dict[tuple[str, Key, bool], _Sum] = defaultdict(_Sum)

    def add(self, attempt: Attempt) -> None:
        """Add the next attempt of a task."""
        if attempt.sent is not None:
            path = self._place(attempt, attempt.sent)
            front = attempt.sent.tokens - (path[-1].end if path else 0)
            for zone in _zones(attempt, attempt.sent, max(0.0, front)):
                self._tree.mark(path, zone)
        answered = [self._row(attempt, block) for block in attempt.answered]
        self._answered[attempt.id] = answered
        written: dict[Key, _Sum] = defaultdict(_Sum)
        for share in attempt.shares:
            key = (share.kind, share.tool)
            is_answer = share.output_tokens or (share.kind in ANSWER_KINDS and not share.carried)
            total = written[key] if is_answer else self._sums[attempt.task, key, share.carried]
            total.add(_Sum(share.input_tokens + share.output_tokens, share.cost_usd))
        for key, total in written.items():
            wrote = [row for row in answered if row.key == key]
            rows = wrote or [self._rest(attempt.task, key, attempt.turn)]
            sizes = [row.tokens for row in rows]
            for row, part in zip(rows, _parts(total, sizes, sizes), strict=True):
                row.output.add(part)

    def rows(self) -> list[BlockCost]:
        """The rows, every sum split over the blocks that it was paid for."""
        for node in self._tree.settled():
            if node.block is not None:
                node.block.add(node.requests, node.taken())
        by_key: dict[tuple[str, Key], list[_Row]] = defaultdict(list)
        for row in self._rows:
            by_key[row.task, row.key].append(row)
        for (task, key, carried), total in self._sums.items():
            column = 2 * carried
            taking = [row for row in by_key[task, key] if row.weights[column] > LEAST_TOKENS]
            rows = taking or [self._rest(task, key)]
            tokens, dollars = ([row.weights[column + offset] for row in rows] for offset in (0, 1))
            for row, part in zip(rows, _parts(total, tokens, dollars), strict=True):
                row.paid[carried].add(part)
        return [row.cost() for row in self._rows]

    def _place(self, attempt: Attempt, sent: Sent) -> list[Node[_Row]]:
        """The prompt of an attempt, with its new blocks placed in it."""
        path = self._tree.path(sent)
        left = [node.block for node in path[sent.kept :] if node.block is not None]
        known = _Known(left, self._answered.get(sent.after or "", ()))
        del path[sent.kept :]
        for block in sent.added:
            row = known.take(block) or self._row(attempt, block)
            self._tree.place(row, path, block.tokens)
        self._tree.keep(attempt.id, path)
        return path

    def _row(self, attempt: Attempt, block: Placed) -> _Row:
        about = (block.kind, block.tool, block.call_id, block.digest, block.tokens)
        self._rows.append(_Row(attempt.task, attempt.turn, *about))
        return self._rows[-1]

    def _rest(self, task: str, key: Key, turn: int | None = None) -> _Row:
        """What can't be told of any block."""
        if (task, key, turn) not in self._rests:
            self._rests[task, key, turn] = _Row(task, turn, *key)
            self._rows.append(self._rests[task, key, turn])
        return self._rests[task, key, turn]


class _Known:
    """Blocks that a prompt may hold again: those it no longer begins with, and those of the last answer.

    A block comes again under its call or with its bytes; what the model wrote may come in other bytes.
    """

    def __init__(self, left: Sequence[_Row], answered: Sequence[_Row]) -> None:
        self._waiting: dict[Hashable, deque[_Row]] = defaultdict(deque)
        self._taken: set[int] = set()
        for row in (*answered, *left):
            self._waiting[_name(row)].append(row)
        for row in answered:
            self._waiting[row.key].append(row)

    def take(self, block: Placed) -> _Row | None:
        """The block that this one is; each is taken once."""
        for name in (_name(block), (block.kind, block.tool)):
            while self._waiting.get(name):
                row = self._waiting[name].popleft()
                if id(row) not in self._taken:
                    self._taken.add(id(row))
                    return row
        return None


def _name(block: Placed | _Row) -> Hashable:
    return block.kind, block.tool, block.call_id or block.digest


def _zones(attempt: Attempt, sent: Sent, front: float) -> Iterator[Zone]:
    """What a request paid for its blocks, stretch by stretch; nothing where that is not known.

    Args:
        attempt: The request.
        sent: What it sent.
        front: How many tokens stand in front of all its blocks.
    """
    usage = attempt.usage or Usage(None, None)
    hidden = sum(share.input_tokens for share in attempt.shares if share.kind == UNRECORDED[0])
    shown = (usage.input_tokens or 0) - hidden
    if shown <= 0 or not sent.tokens:
        return
    scale = sent.tokens / shown
    carried_end = sent.carried_tokens - front
    billed = -hidden
    place = 0.0
    for tokens, usd in zones(usage, attempt.charge or Charge()):
        billed += tokens
        end = max(0.0, billed * scale - front)
        for carried, start, stop in (
            (True, place, min(end, carried_end)),
            (False, max(place, carried_end), end),
        ):
            if start < stop:
                rates = (1 / scale, float(usd) / tokens / scale)
                yield Zone(start, stop, tuple(enumerate(rates, 2 * carried)))
        place = end


def _parts(total: _Sum, tokens: Sequence[float], dollars: Sequence[float]) -> Iterator[_Sum]:
    """A sum split in proportion to weights; dollars that have none go by the tokens."""
    by_tokens = _whole(tokens)
    by_dollars = _whole(dollars) if any(dollars) else by_tokens
    whole, rest = divmod(total.usd or Decimal(0), UNIT_USD)
    most = by_dollars.index(max(by_dollars))
    units = apportion(int(whole), by_dollars)
    for place, part in enumerate(apportion(total.tokens, by_tokens)):
        usd = units[place] * UNIT_USD + (rest if place == most else 0)
        yield _Sum(part, None if total.usd is None else usd)


def _whole(weights: Sequence[float]) -> list[int]:
    """Weights in whole numbers; all alike where there are none."""
    most = max(weights)
    if most <= 0:
        return [1] * len(weights)
    return [max(0, round(weight / most * WEIGHT_STEPS)) for weight in weights]
