/** The reader's place in the gallery, kept in the address so that it can be shared. */
import type { Mark } from '../../runner/core/gallery-data.ts';
import {
  columnOf,
  everything,
  lostKinds,
  type LostWords,
  marks,
  type Order,
  orders,
  type Query,
} from './query.ts';

export const views = {
  pictures: 'Pictures',
  grid: 'Grid',
  failures: 'Failures',
  night: 'The night',
} as const;

export type View = keyof typeof views;

export interface Place {
  view: View;
  query: Query;
  /** From 1. */
  page: number;
  /** Open scene: its number in the list from 1, and its id in case the number has changed. */
  open: { number: number; id: string } | undefined;
  /** Compared pictures: none, or two to four. */
  sides: Side[];
  /** Names of the grid's columns; empty for defaults. */
  across: string;
  down: string;
  /** Names of the columns that the grid steps through, at most two. */
  steps: string[];
  /** Position in the grid: page of its rows, page of its columns, and each step; from 1. */
  at: number[];
}

/** A picture in a comparison: numbers of scene and picture, from 1. Picture 0 is the source picture. */
export interface Side {
  number: number;
  id: string;
  picture: number;
}

export const maxSides = 4;

/** Reads the place from the hash of the address. `names`: the columns of the manifest. */
export function readPlace(hash: string, names: string[]): Place {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const of = (name: string): string => values.get(name) ?? '';
  const columns = names.flatMap((name, index) => {
    const value = of(`column.${name}`);
    return value === '' ? [] : [[index, value]];
  });
  const number = wholeNumber(of('scene'));
  const sides = values.getAll('side').flatMap(readSide).slice(0, maxSides);
  return {
    view: isKeyOf(views, of('view')) ? (of('view') as View) : 'pictures',
    query: {
      text: of('search'),
      state: of('state'),
      kind: of('kind'),
      mark: isKeyOf(marks, of('mark')) ? (of('mark') as Mark) : '',
      lost: isKeyOf(lostKinds, of('words')) ? (of('words') as LostWords) : '',
      columns: Object.fromEntries(columns) as Query['columns'],
      order: readOrder(of('order'), names),
    },
    page: wholeNumber(of('page')) ?? 1,
    open: number === undefined ? undefined : { number, id: of('id') },
    sides: sides.length < 2 ? [] : sides,
    across: of('across'),
    down: of('down'),
    steps: values.getAll('step').slice(0, 2),
    at: of('at')
      .split('.')
      .slice(0, 4)
      .flatMap((text) => wholeNumber(text) ?? []),
  };
}

export function writePlace(place: Place, names: string[]): string {
  const { view, query, page, open, sides, across, down, steps, at } = place;
  const values = new URLSearchParams();
  const add = (name: string, value: string, usual = ''): void => {
    if (value !== usual) values.set(name, value);
  };
  add('view', view, 'pictures');
  add('search', query.text);
  add('state', query.state);
  add('kind', query.kind);
  for (const [index, value] of Object.entries(query.columns)) add(`column.${names[Number(index)]}`, value);
  add('mark', query.mark);
  add('words', query.lost);
  const column = columnOf(query.order);
  const order = column === undefined ? query.order : `${query.order.split(':')[0]}:${names[column]}`;
  add('order', order, everything.order);
  add('across', across);
  add('down', down);
  for (const step of steps) values.append('step', step);
  add('at', at.join('.'));
  add('page', String(page), '1');
  add('scene', open === undefined ? '' : String(open.number));
  add('id', open?.id ?? '');
  for (const side of sides) values.append('side', `${side.number}.${side.picture}.${side.id}`);
  return values.size === 0 ? '' : `#${values.toString()}`;
}

/** Reads a side: `12.1.harbour` is the first picture of scene 12, which has the id harbour. */
function readSide(text: string): Side[] {
  const [, number, picture, id = ''] = /^([1-9]\d{0,8})\.(\d{1,4})\.(.*)$/s.exec(text) ?? [];
  return number === undefined ? [] : [{ number: Number(number), id, picture: Number(picture) }];
}

/** Reads an order; `down:score` sorts by a column. */
function readOrder(text: string, names: string[]): Order {
  if (isKeyOf(orders, text)) return text as Order;
  const way = /^(?:up|down)(?=:)/.exec(text)?.[0];
  const column = way === undefined ? -1 : names.indexOf(text.slice(way.length + 1));
  return column === -1 ? everything.order : `${way as 'up' | 'down'}:${column}`;
}

function isKeyOf(table: object, text: string): boolean {
  return Object.hasOwn(table, text);
}

function wholeNumber(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
