"""What the page says of a certified model."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from saccade.attentive import AttentiveClassifier
from saccade.promises.certificate import ClassRecord, percent
from saccade.showing.outline import Outline, Step
from saccade.showing.words import milestones, money, plural, price, why_nothing
from saccade.study.report.exhibits import BLUE, draw
from saccade.study.report.listing import MOST_LISTED, Cell, Listing, Section, listed
from saccade.study.report.plans import draw_thresholds, scale_by_count

__all__ = ["certified_sections"]

# Shares of rows, for which is said how much it took to decide them.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
# Of a step so many columns are named.
MOST_COLUMNS = 6
ROUNDING = 1e-9


def certified_sections(model: AttentiveClassifier) -> list[Section]:
    outline = Outline(model)
    sections = [_nothing(model)] if outline.decides_nothing else []
    sections.append(_promise(outline))
    if not outline.decides_nothing:
        sections.append(_decided(outline))
    sections.append(_asked(outline))
    if not outline.steps_are_columns:
        sections.append(_columns(outline))
    if outline.plan.checkpoints.size:
        sections.append(_checkpoints(model, outline))
    return sections


def _nothing(model: AttentiveClassifier) -> Section:
    return Section("nothing", "It decides no row early", why_nothing(model), stands_out=True)


def _promise(outline: Outline) -> Section:
    certificate = outline.certificate
    text = [str(certificate)]
    if not outline.decides_nothing:
        text.append(
            "Only the first sentence is a promise. All other figures here are what was seen on the "
            f"{certificate.n_calibration:,} calibration rows, by which the plan was chosen, so that they flatter it a "
            "little."
        )
    if not certificate.by_class:
        text.append("The file has no counts by class: it is of format 1. Certify the model anew to have them.")
        return Section("promise", "What is promised", text)
    text.append(
        "By class: lost are rows that the full model labels so and that get another label here, false are rows that "
        "are labelled so here and that the full model labels otherwise. What could be promised at best is what so "
        "many rows would support, had no label differed."
    )
    return Section("promise", "What is promised", text, _by_class(outline), stands_out=True)


def _by_class(outline: Outline) -> Listing:
    certificate = outline.certificate
    records = list(certificate.by_class)
    if len(records) > MOST_LISTED:
        records.sort(key=lambda record: record.lost_share, reverse=True)
    delta, promised = certificate.delta, certificate.promise == "classes"

    def row(record: ClassRecord) -> list[Cell]:
        level = delta[record.label] if isinstance(delta, Mapping) else delta
        return [
            str(record.label),
            f"{record.full:,}",
            _counted(record.lost, record.lost_share),
            f"{record.here:,}",
            _counted(record.false, record.false_share),
            *([percent(level)] if promised else []),
            percent(record.attainable),
        ]

    header = ["class", "rows, by the full model", "of them lost", "labelled so here", "of them false"]
    header += ["promised at most"] * promised + ["could be promised at best"]
    return listed(header, map(row, records), len(records))


def _counted(count: int, part: float) -> str:
    return f"{count:,} ({percent(part)})" if count else "0"


def _decided(outline: Outline) -> Section:
    title = "How soon rows are decided"
    if not outline.curve:
        why = "That is not known: the file is of format 1, which did not keep it. Certify the model anew to see it."
        return Section("decided", title, [why])
    text = [milestones(outline)]
    if outline.certificate.stored:
        text.append("Rows were sparse: what is counted are stored values, and not the zeros between them.")
    reached = {}
    for part in QUANTILES:
        read, share = next((read, share) for read, share in outline.curve if share >= part - ROUNDING)
        reached[read] = share
    listing = Listing(
        [f"{outline.counted} read, at most", "rows decided"], [[f"{read:,}", share] for read, share in reached.items()]
    )
    svg = draw("Share of rows decided, by how much is read of them", lambda figure: _draw_curve(figure, outline))
    return Section("decided", title, text, listing, svg)


def _draw_curve(figure: Figure, outline: Outline) -> None:
    reads, shares = zip(*outline.curve, strict=True)
    axes, last = figure.subplots(), max(reads[-1], 1 if outline.certificate.stored else outline.plan.n_units)
    first = scale_by_count(axes, last)
    x, y = [first, *reads, last], [0, *(100 * share for share in shares), 100]
    axes.step(x, y, where="post", color=BLUE)
    axes.fill_between(x, y, step="post", color=BLUE, alpha=0.15, lw=0)
    axes.set(xlim=(first, last), ylim=(0, 102), xlabel=f"{outline.counted} read", ylabel="rows decided (%)")
    axes.grid(lw=0.3)


def _asked(outline: Outline) -> Section:
    plan, noun, n = outline.plan, outline.plan.noun, outline.n_steps
    if outline.decides_nothing:
        text = [f"Every row is asked for {plural(n, noun)}."]
    else:
        text = [f"A row can be asked for {plural(n, noun)}, in this order, until it is decided."]
    if plan.of_trees:
        text.append("Trees have the numbers of the library, and ask for the columns on a row's path alone.")
    if plan.n_screens:
        text.append("A screen is what a single column tells of all trees together: a small tree that is read before.")
    if outline.priced:
        text.append(_spending(outline))
    if not outline.by_step and not outline.decides_nothing:
        text.append("How many rows each of them decides is not known of sparse rows, nor from a file of format 1.")
    steps = outline.steps(MOST_LISTED)
    several, grouped = any(map(outline.needs_several, steps)), any(step.groups for step in steps)
    header = [noun[:-1]] + ["columns"] * several + ["bought with"] * grouped + ["price"] * outline.priced
    shares = outline.by_step and not outline.decides_nothing
    header += ["rows asked", "rows decided"] * shares

    def row(step: Step) -> list[Cell]:
        cells: list[Cell] = [f"{step.number}. {step.name}"]
        cells += [_some(step.columns)] * several + [_some(step.groups)] * grouped
        cells += [price(step.price)] * outline.priced
        if shares and step.asked is not None and step.decided is not None:
            cells += [step.asked, step.decided]
        return cells

    listing = listed(header, map(row, steps), n, words=("columns", "bought with"))
    return Section("asked", "What is asked, in order", text, listing)


def _spending(outline: Outline) -> str:
    total, spent = outline.price_of_all, outline.spent_per_row()
    said = "Prices are in your own units; what is bought together is paid for once"
    if spent is None:
        return f"{said}. All of it costs {money(total)}."
    at_most = "at most " if outline.plan.of_trees else ""
    return (
        f"{said}. A calibration row cost {at_most}{money(spent, 4)} on average, where all of it costs {money(total)}."
    )


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - MOST_COLUMNS
    return ", ".join(names[:MOST_COLUMNS]) + (f" and {more:,} more" if more > 0 else "")


def _columns(outline: Outline) -> Section:
    columns, noun = outline.columns(), outline.plan.noun
    grouped, first = any(column.group for column in columns), f"first {noun[:-1]}"
    header = ["column"] + ["bought with"] * grouped + ["price"] * outline.priced + [first]
    header += ["rows asked"] * outline.by_step
    rows: list[list[Cell]] = [
        [
            column.name,
            *([column.group or ""] if grouped else []),
            *([price(column.price)] if outline.priced else []),
            f"{column.step.number}. {column.step.name}",
            *([] if column.step.asked is None else [column.step.asked]),
        ]
        for column in columns
    ]
    text = [f"The {noun} can ask for {plural(len(columns), 'columns')}, and for no other."]
    listing = listed(header, rows, len(rows), words=("bought with", first))
    return Section("columns", "The columns behind them", text, listing)


def _checkpoints(model: AttentiveClassifier, outline: Outline) -> Section:
    plan, noun = outline.plan, outline.plan.noun
    ends = {read: plan.decides(k) for k, read in enumerate(plan.units_among(plan.checkpoints).tolist())}
    if not plan.closes:
        ends[plan.n_to_the_end] = "every row, by its full margin"
    stages = {stage.read: stage for stage in outline.certificate.by_stage}

    def row(read: int, decides: str) -> list[Cell]:
        cells: list[Cell] = [plural(read, noun), decides]
        if outline.by_step:
            stage = stages.get(read)
            cells += ["0", "0"] if stage is None else [f"{stage.rows:,}", f"{stage.disagreements:,}"]
            cells.append(outline.decided(read))
        return cells

    header = ["after", "decides"] + ["rows decided", "with another label", "decided so far"] * outline.by_step
    rows = (row(read, decides) for read, decides in ends.items())
    return Section(
        "checkpoints",
        "What decides",
        [
            "At a checkpoint a row is decided if its margin, as far as it can be told by then, is clear enough. "
            + (
                "One line for each class: by so much it must lead all others."
                if plan.several
                else "Beyond a line the row is of that class; between the lines more is read."
            )
        ],
        listed(header, rows, len(ends), words=("decides",)),
        draw("The thresholds at each checkpoint", lambda figure: draw_thresholds(figure.subplots(), model)),
    )
