/** What tells compared scenes apart: a table of what differs; what is equal is folded. */
import type { JSX } from 'preact';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { Facts } from '../shared/facts.tsx';
import { counted } from '../shared/number-words.ts';
import type { Compared } from './compared-pictures.tsx';
import { MarkButtons, type Marking } from './mark-buttons.tsx';
import { letterOf } from './picks.tsx';
import type { Side } from './place.ts';
import { promptOf, textOf } from './query.ts';
import { inputsOf, nameOf, valuesOf } from './scene-facts.ts';

interface Props {
  compared: Compared[];
  data: GalleryData;
  marking: Marking;
  /** Asks for those that are left. */
  onSides(sides: Side[]): void;
}

export function Differences({ compared, data, marking, onSides }: Props): JSX.Element {
  const facts = compared.map((one) => factsOf(one, data));
  const names = [...new Set(facts.flatMap((each) => [...each.keys()]))];
  const all = names.map((name) => ({ name, texts: facts.map((each) => each.get(name) ?? '') }));
  const isEqual = ({ texts }: { texts: string[] }): boolean => new Set(texts).size === 1;
  const equal = all.filter((each) => isEqual(each) && each.texts[0] !== '');
  return (
    <>
      <div class="differences">
        <table>
          <thead>
            <tr>
              <td />
              {compared.map(({ side, row }, position) => (
                <th key={position} scope="col">
                  <div class="row">
                    <b>{letterOf(position)}</b>
                    {row?.id !== undefined && <MarkButtons {...marking} id={row.id} />}
                    {compared.length > 2 && (
                      <button
                        type="button"
                        class="small"
                        aria-label={`Leave ${letterOf(position)} out`}
                        onClick={() =>
                          onSides(compared.flatMap((one) => (one.side === side ? [] : [one.side])))
                        }
                      >
                        Leave out
                      </button>
                    )}
                  </div>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all
              .filter((each) => !isEqual(each))
              .map(({ name, texts }) => (
                <tr key={name}>
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
              ))}
          </tbody>
        </table>
      </div>
      {equal.length > 0 && (
        <details>
          <summary>{counted(equal.length, 'more value')} equal in all</summary>
          <Facts facts={equal.map(({ name, texts }) => [name, texts[0]])} />
        </details>
      )}
    </>
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

type Apart = [before: string, own: string, after: string];

/** Without the words that all of them begin and end with: two prompts may differ by one word of a hundred. */
export function apart(texts: string[]): Apart[] {
  const all = texts.map((text) => text.split(/(?<=\s)/));
  const fewest = Math.min(...all.map((words) => words.length));
  const isShared = (at: number): boolean => all.every((words) => words.at(at) === all[0]?.at(at));
  let head = 0;
  while (head < fewest && isShared(head)) head += 1;
  let tail = 0;
  while (tail < fewest - head && isShared(-1 - tail)) tail += 1;
  return all.map((words) => {
    const end = words.length - tail;
    return [words.slice(0, head).join(''), words.slice(head, end).join(''), words.slice(end).join('')];
  });
}
