/** The command that lists the filtered scenes in a terminal. */
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { conditionName, quotedName } from '../../runner/core/condition-name.ts';
import { marks } from './marks.ts';
import { boundsOf, kindOf, wordsOf, type Query } from './query.ts';

/** Returns undefined if nothing is filtered, or if no condition can express the filter. */
export function listCommand(query: Query, { batch, columns }: GalleryData): string | undefined {
  if (query.text.trim() !== '' || query.lost !== '') return undefined;
  const wanted = Object.entries(query.columns).flatMap(([index, value]) => {
    const column = columns[Number(index)];
    if (column === undefined || value === '') return [];
    const name = quotedName(conditionName(column.name));
    const { least, most } = boundsOf(value);
    switch (kindOf(column)) {
      case 'choice':
        return [`${name} = ${quoted(value)}`];
      case 'text':
        if (value.startsWith('=')) return [`${name} = ${quoted(value.slice(1))}`];
        return wordsOf(value).map((word) => `${name} contains ${quoted(word)}`);
      case 'range':
        return [least === '' ? '' : `${name} >= ${least}`, most === '' ? '' : `${name} <= ${most}`];
    }
  });
  const conditions = [
    query.state === '' ? '' : `state = ${quoted(query.state)}`,
    query.kind === '' ? '' : `kind = ${quoted(query.kind)} and state != "saved"`,
    ...wanted,
  ].filter((each) => each !== '');
  const options = [
    query.mark === '' ? '' : ` --ids ${marks[query.mark].file}`,
    conditions.length === 0 ? '' : ` --where ${inShell(conditions.join(' and '))}`,
  ].join('');
  return options === '' ? undefined : `nightrender list ${batch}${options}`;
}

function quoted(text: string): string {
  if (text === 'true' || text === 'false') return text;
  return `"${text.replaceAll('"', '""')}"`;
}

function inShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
