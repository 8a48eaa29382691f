/** Search, filters and order. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { GalleryColumn, GalleryData } from '../../runner/core/gallery-data.ts';
import { countWords } from '../shared/number-words.ts';
import { everything, isEverything, orders, type Order, type Query } from './query.ts';

interface Props {
  data: GalleryData;
  query: Query;
  /** Whether the order is the reader's. */
  isOrdered: boolean;
  onQuery(query: Query): void;
}

export function Toolbar({ data, query, isOrdered, onQuery }: Props): JSX.Element {
  const columns = data.columns.flatMap((column, index) => (isFilter(column) ? [{ column, index }] : []));
  const used = Object.values(query.columns).filter((value) => value !== '').length;
  return (
    <search class="toolbar">
      <TextFilter
        label="Search prompts and columns"
        value={query.text}
        onValue={(text) => onQuery({ ...query, text })}
      />
      <StateFilter data={data} query={query} onQuery={onQuery} />
      {isOrdered && <OrderChoice query={query} onQuery={onQuery} />}
      {!isEverything(query) && (
        <button type="button" class="clear" onClick={() => onQuery(everything)}>
          Show everything
        </button>
      )}
      {columns.length > 0 && (
        <details class="columns" open={used > 0}>
          <summary>Columns{used > 0 ? ` (${used} in use)` : ''}</summary>
          <div class="filters">
            {columns.map(({ column, index }) => (
              <ColumnFilter
                key={index}
                column={column}
                value={query.columns[index] ?? ''}
                onValue={(value) => onQuery({ ...query, columns: { ...query.columns, [index]: value } })}
              />
            ))}
          </div>
        </details>
      )}
    </search>
  );
}

function OrderChoice({ query, onQuery }: Pick<Props, 'query' | 'onQuery'>): JSX.Element {
  return (
    <label>
      <span>Order</span>
      <select
        value={query.order}
        onChange={(event) => onQuery({ ...query, order: event.currentTarget.value as Order })}
      >
        {Object.entries(orders).map(([order, words]) => (
          <option key={order} value={order}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** One value alone tells nothing apart. */
function isFilter({ choices }: GalleryColumn): boolean {
  return choices === null || choices.length > 1;
}

function StateFilter({ data, query, onQuery }: Omit<Props, 'isOrdered'>): JSX.Element {
  const value = query.kind === '' ? `state:${query.state}` : `kind:${query.kind}`;
  const choose = (chosen: string): void => {
    const colon = chosen.indexOf(':');
    const [what, name] = [chosen.slice(0, colon), chosen.slice(colon + 1)];
    onQuery({ ...query, state: what === 'state' ? name : '', kind: what === 'kind' ? name : '' });
  };
  return (
    <label>
      <span>State</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="state:">any</option>
        {Object.entries(data.scenes).map(([state, count]) =>
          count > 0 ? (
            <option key={state} value={`state:${state}`}>
              {state} ({countWords(count)})
            </option>
          ) : null,
        )}
        {data.failures.map(({ kind, scenes }) => (
          <option key={kind} value={`kind:${kind}`}>
            {kind} ({countWords(scenes)})
          </option>
        ))}
      </select>
    </label>
  );
}

interface ColumnProps {
  column: GalleryColumn;
  value: string;
  onValue(value: string): void;
}

function ColumnFilter({ column: { name, choices }, value, onValue }: ColumnProps): JSX.Element {
  if (choices === null) return <TextFilter label={name} value={value} onValue={onValue} />;
  return (
    <label>
      <bdi>{name}</bdi>
      <select value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        <option value="">any</option>
        {choices.map(([text, rows]) => (
          <option key={text} value={text}>
            {text} ({countWords(rows)})
          </option>
        ))}
      </select>
    </label>
  );
}

/** Asks when the reader pauses: each answer may mean looking at a hundred thousand rows. */
function TextFilter({
  label,
  value,
  onValue,
}: {
  label: string;
  value: string;
  onValue(value: string): void;
}): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onValue(text), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="text">
      <bdi>{label}</bdi>
      <input type="search" value={text} dir="auto" onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}
