/** Pictures by the values of two columns, step by step through those of two more. */
import type { JSX } from 'preact';
import { countWords } from '../shared/number-words.ts';
import { chosenAxes, gridAxes, type Axis, type ChosenAxes } from './grid-axes.ts';
import { useGrid, type Grid, type Values } from './grid-cells.ts';
import { Found, Pages, ScenePictures } from './pictures-view.tsx';
import { exactly, type Query } from './query.ts';
import { OpenScene, type ViewProps } from './scene-dialog.tsx';
import { Choice } from './toolbar.tsx';
import { those } from './use-selection.ts';

export function GridView(props: ViewProps): JSX.Element {
  const axes = gridAxes(props.data);
  const chosen = chosenAxes(axes, props.place);
  if (chosen === undefined) return <></>;
  return (
    <section aria-label="Grid" class="stack">
      <AxisChoices {...props} axes={axes} chosen={chosen} />
      <Cells {...props} chosen={chosen} />
    </section>
  );
}

type ChoicesProps = ViewProps & { axes: Axis[]; chosen: ChosenAxes };

function AxisChoices({ go, axes, chosen: { down, across, steps } }: ChoicesProps): JSX.Element {
  const [x, y] = [across.name, down.name];
  const [first = '', second = ''] = steps.map(({ name }) => name);
  const but = (...others: string[]): [string, string][] =>
    axes.flatMap(({ name, count }) =>
      others.includes(name) ? [] : [[name, count === undefined ? name : `${name} (${count})`]],
    );
  const stepBy = (...names: string[]): void => go({ steps: names.filter((name) => name !== '') });
  const none: [string, string] = ['', 'nothing'];
  const stepOptions = [none, ...but(x, y, second)];
  return (
    <div class="row axes">
      <Choice label="Rows" options={but(x)} chosen={y} onChoose={(name) => go({ down: name, across: x })} />
      <Choice
        label="Columns"
        options={but(y)}
        chosen={x}
        onChoose={(name) => go({ across: name, down: y })}
      />
      <button type="button" onClick={() => go({ down: x, across: y })}>
        Swap
      </button>
      {stepOptions.length > 1 && (
        <Choice
          label="Step through"
          options={stepOptions}
          chosen={first}
          onChoose={(name) => stepBy(name, second)}
        />
      )}
      {first !== '' && but(x, y, first).length > 0 && (
        <Choice
          label="and"
          options={[none, ...but(x, y, first)]}
          chosen={second}
          onChoose={(name) => stepBy(first, name)}
        />
      )}
    </div>
  );
}

function Cells(props: ViewProps & { chosen: ChosenAxes }): JSX.Element {
  const { rows, data, place, go, chosen } = props;
  const { grid, ...selected } = useGrid(props, chosen);
  const turn = (axis: number, page: number): void =>
    go({ at: Object.assign([1, 1, ...chosen.steps.map(() => 1)], place.at, { [axis]: page }) });
  return (
    <>
      <Found {...selected} data={data} rows={rows} />
      {grid !== undefined && <Turners values={grid.values} onTurn={turn} />}
      {grid !== undefined && <Table {...props} grid={grid} />}
      <OpenScene {...props} order={selected.selection && those(orderOf(grid))} />
    </>
  );
}

interface TurnersProps {
  values: Values[];
  onTurn(axis: number, page: number): void;
}

/** Pages of rows and columns where there are several, and each step with its value. */
function Turners({ values, onTurn }: TurnersProps): JSX.Element {
  return (
    <div class="row">
      {values.map(({ axis: { name }, isStep, shown: [value], page, pages }, i) =>
        !isStep && pages === 1 ? null : (
          <div key={name} class="row step">
            <bdi>{name}</bdi>
            {isStep && <strong title={value}>{nameOf(value)}</strong>}
            <Pages
              isSmall
              name={`${name}, ${isStep ? 'step' : 'page'}`}
              page={page}
              pages={pages}
              onPage={(next) => onTurn(i, next)}
            />
          </div>
        ),
      )}
    </div>
  );
}

function Table(props: ViewProps & { grid: Grid }): JSX.Element {
  const [down, across] = props.grid.values;
  return (
    <div class="cells" tabIndex={0} role="region" aria-label={`${down?.axis.name} by ${across?.axis.name}`}>
      <table>
        <thead>
          <tr>
            <td />
            {across?.shown.map((x) => (
              <th key={x} scope="col">
                <bdi title={x}>{nameOf(x)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {down?.shown.map((y) => (
            <tr key={y}>
              <th scope="row">
                <bdi title={y}>{nameOf(y)}</bdi>
              </th>
              {across?.shown.map((x) => (
                <td key={x}>
                  <CellContent {...props} y={y} x={x} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CellContent({
  grid,
  y,
  x,
  ...props
}: ViewProps & { grid: Grid; y: string; x: string }): JSX.Element {
  const { count, shown, why } = grid.at(y, x);
  if (count === 0) return <small class="soft">{why}</small>;
  const { data, place, go } = props;
  const of = [y, x, ...grid.values.slice(2).map((step) => step.shown[0] ?? '')];
  const wanted = grid.values.map(({ axis: { column = -1 } }, i) => [
    column,
    exactly(of[i] ?? '', data.columns[column]),
  ]);
  const isSaid = wanted.every(([column, value]) => column !== -1 && value !== undefined);
  const list = (): void => {
    const columns = { ...place.query.columns, ...(Object.fromEntries(wanted) as Query['columns']) };
    go({ view: 'pictures', query: { ...place.query, columns }, page: 1 });
  };
  return (
    <>
      <ScenePictures {...props} isSmall shown={shown} />
      {count > shown.length && (
        <button type="button" class="small" disabled={!isSaid} onClick={list}>
          all {countWords(count)}
        </button>
      )}
    </>
  );
}

/** Row by row. */
function orderOf(grid: Grid | undefined): number[] {
  const [down, across] = grid?.values ?? [];
  return (down?.shown ?? []).flatMap((y) =>
    (across?.shown ?? []).flatMap((x) => grid?.at(y, x).shown.map(({ index }) => index) ?? []),
  );
}

function nameOf(value = ''): string {
  return value === '' ? 'none' : value;
}
