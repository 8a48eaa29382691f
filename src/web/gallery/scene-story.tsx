/** All that is known of a scene, beside its picture. */
import type { JSX } from 'preact';
import type { GalleryColumn, GalleryPicture, GalleryRow } from '../../runner/core/gallery-data.ts';
import { Facts, type Fact } from '../shared/facts.tsx';
import { byteWords, counted, durationWords, exactInstantWords } from '../shared/number-words.ts';
import { toneOf } from '../shared/tone.ts';
import { promptOf, textOf } from './query.ts';

interface Props {
  row: GalleryRow;
  picture: GalleryPicture | undefined;
  columns: GalleryColumn[];
}

export function SceneStory({ row, picture, columns }: Props): JSX.Element {
  const prompt = promptOf(row);
  const inputs = [
    ...columns.flatMap(({ name }, index): [string, unknown][] =>
      name === 'id' || index === row.prompt ? [] : [[name, row.values?.[index]]],
    ),
    ...Object.entries(row.input ?? {}),
  ].filter(([, value]) => textOf(value) !== '');
  return (
    <>
      {prompt !== '' && (
        <p class="prompt" dir="auto">
          {prompt}
        </p>
      )}
      {row.failure !== undefined && (
        <p class="message bad">
          <strong>{row.failure[0]}</strong> <bdi>{row.failure[1]}</bdi>
        </p>
      )}
      {inputs.length > 0 && (
        <section aria-label="Inputs">
          <h3>Inputs</h3>
          <Facts facts={inputs.map(([name, value]) => [name, textOf(value)])} />
        </section>
      )}
      <section aria-label="Story">
        <h3>Story</h3>
        <Facts facts={storyOf(row)} />
      </section>
      {picture !== undefined && (
        <section aria-label="Picture">
          <h3>Picture</h3>
          <Facts facts={pictureFacts(picture)} />
        </section>
      )}
    </>
  );
}

function storyOf(row: GalleryRow): Fact[] {
  const unknown = [
    ...(row.unanswered === undefined ? [] : [`${row.unanswered} without an answer`]),
    ...(row.expired === undefined ? [] : [`${row.expired} expired`]),
  ].join(', ');
  const submissions = counted(row.attempts ?? 0, 'submission');
  return [
    ['State', <span class={toneOf(row.state)}>{row.state}</span>],
    ['Sent', unknown === '' ? submissions : `${submissions}, ${unknown} (may have been billed)`],
    ['Job', row.job === undefined ? undefined : <code>{row.job}</code>],
    ['Submitted', worded(row.submittedAt, exactInstantWords)],
    ['Waited in the queue', worded(row.delayMs, durationWords)],
    ['Executed for', worded(row.executionMs, durationWords)],
    ['Completed', worded(row.completedAt, exactInstantWords)],
    ['Saved', worded(row.savedAt, exactInstantWords)],
    ['Row', row.source],
  ];
}

function worded(value: number | undefined, words: (value: number) => string): string | undefined {
  return value === undefined ? undefined : words(value);
}

function pictureFacts({ file, width, height, bytes, seed }: GalleryPicture): Fact[] {
  return [
    ['File', <a href={file}>{nameOf(file)}</a>],
    ['Size', `${width} × ${height}, ${byteWords(bytes)}`],
    ['Seed', seed === undefined ? undefined : <code>{seed}</code>],
  ];
}

function nameOf(address: string): string {
  return decodeURIComponent(address).replace('../images/', '');
}
