/** All that is known of a scene, beside its picture. */
import type { ComponentChildren, JSX } from 'preact';
import type { GalleryColumn, GalleryPicture, GalleryRow } from '../../runner/core/gallery-data.ts';
import { byteWords, counted, durationWords, exactInstantWords } from '../shared/number-words.ts';
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
    <div class="story">
      {prompt !== '' && (
        <p class="prompt" dir="auto">
          {prompt}
        </p>
      )}
      {row.failure !== undefined && (
        <p class="failure">
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
    </div>
  );
}

type Fact = [name: string, value: ComponentChildren];

function Facts({ facts }: { facts: Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value], index) => (
        <div key={index}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function storyOf(row: GalleryRow): Fact[] {
  const unknown = [
    ...(row.unanswered === undefined ? [] : [`${row.unanswered} without an answer`]),
    ...(row.expired === undefined ? [] : [`${row.expired} expired`]),
  ].join(', ');
  const submissions = counted(row.attempts ?? 0, 'submission');
  const times: [string, number | undefined, (value: number) => string][] = [
    ['Submitted', row.submittedAt, exactInstantWords],
    ['Waited in the queue', row.delayMs, durationWords],
    ['Executed for', row.executionMs, durationWords],
    ['Completed', row.completedAt, exactInstantWords],
    ['Saved', row.savedAt, exactInstantWords],
  ];
  return [
    ['State', <span class={`is-${row.state}`}>{row.state}</span>],
    ['Sent', unknown === '' ? submissions : `${submissions}, ${unknown} (may have been billed)`],
    ...(row.job === undefined ? [] : [['Job', <code>{row.job}</code>] satisfies Fact]),
    ...times.flatMap(([name, value, words]): Fact[] => (value === undefined ? [] : [[name, words(value)]])),
    ['Row', row.source],
  ];
}

function pictureFacts({ file, width, height, bytes, seed }: GalleryPicture): Fact[] {
  return [
    ['File', <a href={file}>{nameOf(file)}</a>],
    ['Size', `${width} × ${height}, ${byteWords(bytes)}`],
    ...(seed === undefined ? [] : [['Seed', <code>{seed}</code>] satisfies Fact]),
  ];
}

function nameOf(address: string): string {
  return decodeURIComponent(address).replace('../images/', '');
}
