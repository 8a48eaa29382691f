/** Pictures by the values of two columns. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { GalleryColumn, GalleryRow } from '../../runner/core/gallery-data.ts';
import { countWords } from '../shared/number-words.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { Found, type ViewProps } from './pictures-view.tsx';
import { matcher, textOf, type Query } from './query.ts';
import { SceneDialog } from './scene-dialog.tsx';
import { scenePicture } from './scene-picture.ts';
import { scanRows } from './select-rows.ts';
import { those, type Selected } from './use-selection.ts';

interface Axis {
  /** The number of the column. */
  index: number;
  name: string;
  values: string[];
}

export function GridView(props: ViewProps): JSX.Element {
  const { data, place, go } = props;
  const axes = data.columns.flatMap(axisOf);
  const down = axes.find(({ name }) => name === place.down) ?? axes[0];
  const across =
    axes.find((axis) => axis.name === place.across && axis !== down) ?? axes.find((axis) => axis !== down);
  if (down === undefined || across === undefined)
    return <p class="soft">A grid needs two columns with 2 to 50 values each, and this list has none.</p>;
  const others = (axis: Axis): Axis[] => axes.filter((each) => each !== axis);
  return (
    <section aria-label="Grid" class="grid">
      <div class="axes">
        <AxisChoice
          label="Rows"
          axes={others(across)}
          chosen={down}
          onChoose={(name) => go({ down: name, across: across.name })}
        />
        <AxisChoice
          label="Columns"
          axes={others(down)}
          chosen={across}
          onChoose={(name) => go({ across: name, down: down.name })}
        />
        <button type="button" onClick={() => go({ down: across.name, across: down.name })}>
          Swap
        </button>
      </div>
      <Cells {...props} down={down} across={across} />
    </section>
  );
}

function axisOf({ name, choices }: GalleryColumn, index: number): Axis[] {
  if (choices === null || choices.length < 2) return [];
  return [{ index, name, values: choices.map(([text]) => text) }];
}

interface ChoiceProps {
  label: string;
  axes: Axis[];
  chosen: Axis;
  onChoose(name: string): void;
}

function AxisChoice({ label, axes, chosen, onChoose }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select value={chosen.name} onChange={(event) => onChoose(event.currentTarget.value)}>
        {axes.map(({ name, values }) => (
          <option key={name} value={name}>
            {name} ({values.length})
          </option>
        ))}
      </select>
    </label>
  );
}

interface Cell {
  count: number;
  shown: { row: GalleryRow; index: number }[];
}

type CellsProps = ViewProps & { down: Axis; across: Axis };

function Cells({ data, rows, place, go, down, across }: CellsProps): JSX.Element {
  const { cells, ...selected } = useCells({ data, rows, place, go, down, across });
  const at = (y: string, x: string): Cell => cells.get(keyOf(y, x)) ?? { count: 0, shown: [] };
  const order = down.values.flatMap((y) =>
    across.values.flatMap((x) => at(y, x).shown.map(({ index }) => index)),
  );
  const list = (y: string, x: string): void => {
    const columns: Query['columns'] = { ...place.query.columns, [down.index]: y, [across.index]: x };
    go({ view: 'pictures', query: { ...place.query, columns }, page: 1 });
  };
  const open = (index: number, row: GalleryRow): void =>
    go({ open: { number: index + 1, id: row.id ?? '' } });
  return (
    <>
      <Found selected={selected} rows={rows} isGone={false} />
      <div class="cells" tabIndex={0} role="region" aria-label={`${down.name} by ${across.name}`}>
        <table>
          <thead>
            <tr>
              <td />
              {across.values.map((x) => (
                <th key={x} scope="col">
                  <bdi>{x}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {down.values.map((y) => (
              <tr key={y}>
                <th scope="row">
                  <bdi>{y}</bdi>
                </th>
                {across.values.map((x) => (
                  <td key={x}>
                    <CellPictures cell={at(y, x)} onOpen={open} onMore={() => list(y, x)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {place.open !== undefined && selected.selection !== undefined && (
        <SceneDialog
          rows={rows}
          columns={data.columns}
          order={those(order)}
          open={place.open}
          onOpen={open}
          onClose={() => go({ open: undefined })}
        />
      )}
    </>
  );
}

interface CellProps {
  cell: Cell;
  onOpen(index: number, row: GalleryRow): void;
  onMore(): void;
}

function CellPictures({ cell: { count, shown }, onOpen, onMore }: CellProps): JSX.Element {
  return (
    <>
      <PictureGrid
        isSmall
        pictures={shown.map(({ row, index }) => scenePicture(row, index))}
        onOpen={(position) => {
          const chosen = shown[position];
          if (chosen !== undefined) onOpen(chosen.index, chosen.row);
        }}
      />
      {count > shown.length && (
        <button type="button" class="rest" onClick={onMore}>
          all {countWords(count)}
        </button>
      )}
    </>
  );
}

/** Pictures of a whole grid: so many buttons a page bears well. */
const mostPictures = 2000;

/** Scans all rows, since any may belong to any cell. */
function useCells({ data, rows, place, down, across }: CellsProps): Selected & { cells: Map<string, Cell> } {
  const asked = JSON.stringify([place.query, down.index, across.index]);
  const [found, setFound] = useState<Selected & { cells: Map<string, Cell> }>(nothing);
  useEffect(() => {
    const stopped = new AbortController();
    const cells = new Map<string, Cell>();
    const perCell = Math.max(
      1,
      Math.min(9, Math.floor(mostPictures / (down.values.length * across.values.length))),
    );
    let count = 0;
    const matches = matcher(place.query, (column) => data.columns[column]?.choices !== null);
    const visit = (row: GalleryRow, index: number): void => {
      const key = keyOf(textOf(row.values?.[down.index]), textOf(row.values?.[across.index]));
      const cell = cells.get(key) ?? { count: 0, shown: [] };
      cell.count += 1;
      if (cell.shown.length < perCell) cell.shown.push({ row, index });
      cells.set(key, cell);
      count += 1;
    };
    const onPart = (done: number): void => setFound((before) => ({ ...before, selection: undefined, done }));
    const look = async (): Promise<void> => {
      if (!(await scanRows(rows, matches, visit, { signal: stopped.signal, onPart }))) return;
      const selection = { count, at: () => undefined, positionOf: () => -1 };
      setFound({ cells, selection, done: rows.total, hasFailed: false });
    };
    look().catch(() => setFound({ ...nothing, hasFailed: true }));
    return () => stopped.abort();
  }, [asked]);
  return found;
}

const nothing: Selected & { cells: Map<string, Cell> } = {
  cells: new Map(),
  selection: undefined,
  done: 0,
  hasFailed: false,
};

function keyOf(y: string, x: string): string {
  return JSON.stringify([y, x]);
}
