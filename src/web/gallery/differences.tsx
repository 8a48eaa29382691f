/** What tells compared scenes apart: a table of what differs; what is equal is folded. */
import type { JSX } from 'preact';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { Facts } from '../shared/facts.tsx';
import { counted } from '../shared/number-words.ts';
import { MarkButtons, type Marking } from './mark-buttons.tsx';
import { letterOf } from './picks.tsx';
import type { Side } from './place.ts';
import { promptOf, textOf } from './query.ts';
import { apart, inputsOf, nameOf, valuesOf } from './scene-facts.ts';

export interface Compared {
  side: Side;
  index: number;
  /** Undefined where there is no such scene any more. */
  row: GalleryRow | undefined;
  /** The address of its picture. */
  file: string | undefined;
}

interface Props {
  compared: Compared[];
  data: GalleryData;
  marking: Marking;
}

export function Differences({ compared, data, marking }: Props): JSX.Element {
  const facts = compared.map((one) => factsOf(one, data));
  const names = [...new Set(facts.flatMap((each) => [...each.keys()]))];
  const all = names.map((name) => ({ name, texts: facts.map((each) => each.get(name) ?? '') }));
  const different = all.filter(({ texts }) => new Set(texts).size > 1);
  const equal = all.filter(({ texts }) => new Set(texts).size === 1 && texts[0] !== '');
  return (
    <>
      <table>
        <thead>
          <tr>
            <td />
            {compared.map(({ row }, position) => (
              <th key={position} scope="col">
                <div class="row">
                  <b>{letterOf(position)}</b>
                  {row?.id !== undefined && <MarkButtons {...marking} id={row.id} />}
                </div>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {different.map(({ name, texts }) => (
            <Row key={name} name={name} texts={texts} />
          ))}
        </tbody>
      </table>
      {equal.length > 0 && (
        <details>
          <summary>{counted(equal.length, 'more value')} equal in all</summary>
          <Facts facts={equal.map(({ name, texts }) => [name, texts[0]])} />
        </details>
      )}
    </>
  );
}

function Row({ name, texts }: { name: string; texts: string[] }): JSX.Element {
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
      </th>
      {apart(texts).map(([before, own, after], position) => (
        <td key={position} dir="auto">
          {before}
          {before + after === '' ? own : <mark>{own}</mark>}
          {after}
        </td>
      ))}
    </tr>
  );
}

function factsOf({ side, row, file }: Compared, data: GalleryData): Map<string, string> {
  if (row === undefined) return new Map();
  const picture = row.pictures?.[side.picture - 1];
  return new Map([
    ['id', row.id ?? row.source],
    ['state', row.state],
    ['prompt', promptOf(row)],
    ['seed', picture?.seed ?? ''],
    ...[...valuesOf(row, data), ...inputsOf(row, data)].map(([name, value]): [string, string] => [
      name,
      textOf(value),
    ]),
    ['pixels', picture === undefined ? '' : `${picture.width} × ${picture.height}`],
    ['file', file === undefined ? '' : nameOf(file)],
  ]);
}
