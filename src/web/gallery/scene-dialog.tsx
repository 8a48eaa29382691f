/** The dialog of one scene: its pictures, prompt, inputs, seed and history. Arrow keys show the next scene. */
import type { JSX, ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { GalleryData, GalleryFile, GalleryPicture, GalleryRow } from '../../runner/core/gallery-data.ts';
import { lostWords } from '../../runner/core/picture.ts';
import { ClipPlayer, togglePlayer } from '../shared/clip-player.tsx';
import { type Fact, Facts, toneOf } from '../shared/facts.tsx';
import { useLoaded, useSwipe } from '../shared/hooks.ts';
import { byteWords, counted, countWords, durationWords, exactInstantWords } from '../shared/number-words.ts';
import { Image } from '../shared/picture-grid.tsx';
import type { Marking } from './kept-marks.ts';
import { MarkButtons, PickButton, PickedButtons, type Picking } from './mark-buttons.tsx';
import type { Place, Side } from './page-location.ts';
import { promptOf, textOf } from './query.ts';
import type { Rows, Selection } from './rows.ts';
import { clipIn, inputsOf, nameOf, pictureBefore, scenePicture, standIn, valuesOf } from './scene-picture.ts';
import { Dialog } from '../shared/dialog.tsx';

export interface ViewProps {
  data: GalleryData;
  rows: Rows;
  place: Place;
  marking: Marking;
  picking: Picking;
  go(change: Partial<Place>): void;
}

type Props = ViewProps & {
  /** Order in which to step through scenes; undefined until it is known. */
  order: Selection | undefined;
  /** Returns the page of the view that contains a row. */
  pageOf?(index: number): number;
};

export function OpenScene(props: Props): JSX.Element | null {
  const { order, place } = props;
  if (order === undefined || place.open === undefined) return null;
  return <SceneDialog {...props} order={order} open={place.open} />;
}

type DialogProps = Props & { order: Selection; open: { number: number; id: string } };

function SceneDialog(props: DialogProps): JSX.Element {
  const { data, rows, marking, picking, go, order, pageOf, open } = props;
  const { number, id } = open;
  const loaded = useLoaded([rows, number, id], async () => ({
    number,
    found: await findScene(rows, number - 1, id),
  }));
  const [turned, setTurned] = useState<Found>();
  // Until the scene is loaded, the next key must not find the scene before it.
  const isTurned = turned?.index === number - 1 && loaded?.number !== number;
  const found = isTurned ? turned : loaded?.found;
  const [chosen, setChosen] = useState({ of: -1, picture: 0 });
  const index = found?.index ?? number - 1;
  const position = order.positionOf(index);
  const pictures = found?.row?.pictures ?? [];
  const picture = chosen.of === index ? chosen.picture : 0;
  const isOpen = useRef(true);
  useLayoutEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );
  const turn = async (by: 1 | -1): Promise<void> => {
    const within = picture + by;
    if (within >= 0 && within < pictures.length) return setChosen({ of: index, picture: within });
    const next = position < 0 ? undefined : order.at(position + by);
    if (next === undefined) return;
    const row = await rows.at(next);
    // The reader may have closed the dialog while the row was loaded.
    if (row === undefined || !isOpen.current) return;
    setTurned({ index: next, row });
    setChosen({ of: next, picture: by === 1 ? 0 : Math.max(0, (row.pictures?.length ?? 0) - 1) });
    go({ ...openedAt(next, row), ...(pageOf && { page: pageOf(next) }) });
  };
  const latest = useRef(turn);
  latest.current = turn;
  // One after the other, so that each key counts from the picture that the key before it has shown.
  const turning = useRef(Promise.resolve());
  const step = (by: 1 | -1): void => {
    turning.current = turning.current
      .then(() => latest.current(by))
      .catch(() => void (rows.isLive || location.reload()));
  };
  const close = (): void => {
    go({ open: undefined });
    // Pages may have been turned meanwhile, so the focus moves to the picture that was shown last. The dialog is removed
    // in the microtask before this one, and no key can come between them.
    queueMicrotask(() => document.querySelector<HTMLElement>(`.picture[data-key="${index + 1}"]`)?.focus());
  };
  const { row } = found ?? {};
  const shown = pictures[picture];
  const clip = shown && clipIn(shown);
  const before = row && standIn(row, data);
  const side: Side = { ...openedAt(index, row).open, picture: picture + 1 };
  const noun = clip === undefined ? 'picture' : 'clip';
  const within = pictures.length > 1 ? ` · ${noun} ${picture + 1} of ${pictures.length}` : '';
  const standing = position < 0 ? '' : `${countWords(position + 1)} of ${countWords(order.count)}`;
  return (
    <PictureViewer
      title={row?.id ?? row?.source ?? (found === undefined ? '…' : 'No such scene')}
      standing={standing + within}
      picture={
        row === undefined ? (
          <></>
        ) : clip === undefined ? (
          <Image {...scenePicture(row, index)} sources={[shown?.file ?? before ?? []].flat()} />
        ) : (
          <ClipPlayer clip={clip} alt={scenePicture(row, index).alt} />
        )
      }
      hasPrevious={picture > 0 || position > 0}
      hasNext={picture < pictures.length - 1 || (position >= 0 && position < order.count - 1)}
      onStep={step}
      onClose={close}
    >
      <div class="row">
        {row?.id !== undefined && <MarkButtons {...marking} id={row.id} hasWords />}
        {row !== undefined && <PickButton picking={picking} side={side} hasWords />}
        <PickedButtons {...picking} />
      </div>
      {row !== undefined && <CompareWith {...props} key={index} row={row} side={side} />}
      {row !== undefined && <SceneStory row={row} picture={shown} data={data} />}
    </PictureViewer>
  );
}

/** Returns the change of place that opens a scene. */
export function openedAt(
  index: number,
  { id = '' }: Pick<GalleryRow, 'id'> = {},
): { open: Omit<Side, 'picture'> } {
  return { open: { number: index + 1, id } };
}

interface Found {
  index: number;
  row: GalleryRow | undefined;
}

/** Finds a scene by its number. In a newer report the number may belong to another scene, so the id decides. */
export async function findScene(rows: Rows, index: number, id: string): Promise<Found> {
  try {
    const there = await rows.at(index);
    if (id === '' || (there?.id ?? '') === id) return { index, row: there };
    for (let chunk = 0; chunk < rows.chunks; chunk++) {
      const all = await rows.chunk(chunk);
      const offset = all.findIndex((row) => row.id === id);
      if (offset !== -1) return { index: rows.startOf(chunk) + offset, row: all[offset] };
    }
  } catch {
    // A newer report has replaced the file.
  }
  return { index, row: undefined };
}

interface StoryProps {
  row: GalleryRow;
  picture: GalleryPicture | undefined;
  data: GalleryData;
}

function SceneStory({ row, picture, data }: StoryProps): JSX.Element {
  const before = standIn(row, data) === undefined ? pictureBefore(row, data) : undefined;
  const prompt = promptOf(row);
  const words = lostWords(picture?.output);
  return (
    <>
      {prompt !== '' && (
        <p class="prompt" dir="auto">
          {prompt}
        </p>
      )}
      {words !== '' && (
        <p class="hint" dir="auto">
          {words}
        </p>
      )}
      {row.failure !== undefined && (
        <p class="message bad">
          <strong>{row.failure[0]}</strong> <bdi>{row.failure[1]}</bdi>
        </p>
      )}
      {before !== undefined && (
        <section class="before" aria-label="The picture before">
          <h3>The picture before</h3>
          <a href={before}>
            <Image
              sources={[before]}
              alt="The picture that this one was made from"
              state={row.state}
              word=""
            />
          </a>
        </section>
      )}
      <Values title="Values" of={valuesOf(row, data)} />
      <Values title="Inputs" of={inputsOf(row, data)} />
      <section aria-label="Story">
        <h3>Story</h3>
        <Facts facts={storyOf(row)} />
      </section>
      {picture !== undefined && (
        <section aria-label={nounOf(picture)}>
          <h3>{nounOf(picture)}</h3>
          <Facts facts={pictureFacts(picture)} />
        </section>
      )}
      {row.files !== undefined && (
        <section aria-label="Files">
          <h3>Files</h3>
          <Facts facts={row.files.map(fileFact)} />
        </section>
      )}
    </>
  );
}

function Values({ title, of }: { title: string; of: [string, unknown][] }): JSX.Element | null {
  const facts = of.map(([name, value]): Fact => [name, textOf(value)]).filter(([, text]) => text !== '');
  if (facts.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <Facts facts={facts} />
    </section>
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

function nounOf(picture: GalleryPicture): string {
  return clipIn(picture) === undefined ? 'Picture' : 'Clip';
}

function pictureFacts({ file, width, height, bytes, seed, output }: GalleryPicture): Fact[] {
  const { clip = {} } = output ?? {};
  const { durationMs, frameRate, codecs, isEndOpen } = clip;
  return [
    ['File', <a href={file}>{nameOf(file)}</a>],
    ['Size', `${width === 0 ? '' : `${width} × ${height}, `}${byteWords(bytes)}`],
    ['Length', worded(durationMs, durationWords)],
    ['Frame rate', frameRate === undefined ? undefined : `${Number(frameRate.toFixed(3))} a second`],
    ['Codecs', codecs === undefined || codecs.length === 0 ? undefined : codecs.join(', ')],
    ['End', isEndOpen && 'The file does not say where it ends, so nobody can tell if its end is missing.'],
    ['Seed', seed === undefined ? undefined : <code>{seed}</code>],
  ];
}

function fileFact({ label, file, bytes, isNamedOnly }: GalleryFile): Fact {
  const name = nameOf(file);
  return [
    label,
    <>
      {isNamedOnly ? name : <a href={file}>{name}</a>}, {byteWords(bytes)}
    </>,
  ];
}

interface CompareProps {
  row: GalleryRow;
  side: Side;
  data: GalleryData;
  rows: Rows;
  picking: Picking;
}

interface Other {
  words: string;
  side: Side;
}

/** More buttons would not be read. */
const maxOffered = 24;

/** Buttons to compare a scene with its state before an edit, other seeds, or other values of one list. */
function CompareWith({ row, side, data, rows, picking }: CompareProps): JSX.Element | null {
  const found = useLoaded([rows], () => othersOf(row, side, data, rows)) ?? [];
  const others = [...ownPictures(row, side, data), ...found];
  if (others.length === 0) return null;
  return (
    <section aria-label="Compare with" class="stack">
      <h3>Compare with</h3>
      <div class="row">
        {others.slice(0, maxOffered).map((other) => (
          <button
            key={`${other.side.number}.${other.side.picture}`}
            type="button"
            class="small"
            onClick={() => picking.compare([other.side, side])}
          >
            <bdi>{other.words}</bdi>
          </button>
        ))}
      </div>
    </section>
  );
}

/** Returns the other pictures of the scene, and the picture that it was made from. */
function ownPictures(row: GalleryRow, side: Side, data: GalleryData): Other[] {
  const { pictures = [] } = row;
  const others = pictures.flatMap((one, index) =>
    index + 1 === side.picture
      ? []
      : [{ words: `${nounOf(one).toLowerCase()} ${index + 1}`, side: { ...side, picture: index + 1 } }],
  );
  const hasBefore = pictures.length > 0 && pictureBefore(row, data) !== undefined;
  return hasBefore ? [{ words: 'the picture before', side: { ...side, picture: 0 } }, ...others] : others;
}

/** Maximum number of chunks with withdrawn rows to search. */
const maxFiles = 20;

/** Finds scenes to compare with: variants are close, edited and withdrawn rows at the end. */
async function othersOf(row: GalleryRow, { number }: Side, data: GalleryData, rows: Rows): Promise<Other[]> {
  const { withdrawn = 0 } = data.scenes;
  const here = rows.chunkOf(number - 1);
  const ends = withdrawn === 0 ? rows.chunks : rows.chunkOf(rows.total - withdrawn);
  const last = Array.from({ length: rows.chunks - ends }, (_, index) => ends + index).slice(0, maxFiles);
  const near = new Set([here - 1, here, here + 1, ...last]);
  const edits: Other[] = [];
  const variants: (Other & { by: string[] })[] = [];
  for (const chunk of [...near].filter((each) => each >= 0 && each < rows.chunks))
    for (const [offset, other] of (await rows.chunk(chunk)).entries()) {
      const index = rows.startOf(chunk) + offset;
      if (index === number - 1 || (other.pictures === undefined && standIn(other, data) === undefined))
        continue;
      const side: Side = { number: index + 1, id: other.id ?? '', picture: 1 };
      const isWithdrawn = other.state === 'withdrawn';
      if (other.id !== undefined && other.id === row.id)
        edits.push({ words: `${isWithdrawn ? 'before' : 'after'} the edit`, side });
      const by = isWithdrawn || row.state === 'withdrawn' ? undefined : differing(row, other, data);
      if (by !== undefined) variants.push({ words: wordsOf(other, by, data), side, by });
    }
  return [...edits, ...variants.filter(({ by }) => !variants.some((one) => isLess(one.by, by)))];
}

const seeds = new Set(['seed', 'seed_number']);

/** Returns the lists of `scenes` in which two rows differ; undefined if they differ in anything else. */
function differing(row: GalleryRow, other: GalleryRow, { columns, axes }: GalleryData): string[] | undefined {
  const names = columns.flatMap(({ name, isValue = false }, index) =>
    name === 'id' || isValue || textOf(row.values?.[index]) === textOf(other.values?.[index]) ? [] : [name],
  );
  return names.every((name) => axes.includes(name) || seeds.has(name)) ? names : undefined;
}

/** True if `some` is a proper subset. Only smallest differences are offered: a `matrix` one list at a time. */
function isLess(some: string[], all: string[]): boolean {
  return some.length > 0 && some.length < all.length && some.every((name) => all.includes(name));
}

function wordsOf({ values, pictures, id }: GalleryRow, by: string[], { columns }: GalleryData): string {
  const seed = pictures?.[0]?.seed;
  if (by.length === 0) return seed === undefined ? (id ?? 'the same again') : `seed ${seed}`;
  const shown = by.filter((name) => name !== 'seed' || !by.includes('seed_number'));
  const valueOf = (name: string): string =>
    textOf(values?.[columns.findIndex((column) => column.name === name)]);
  return shown.map((name) => `${name === 'seed_number' ? 'seed' : name} ${valueOf(name)}`).join(', ');
}

interface ViewerProps {
  title: string;
  /** Position among the pictures, such as `3 of 20`. */
  standing?: string;
  picture: JSX.Element;
  children: ComponentChildren;
  hasPrevious: boolean;
  hasNext: boolean;
  onStep(by: 1 | -1): void;
  onClose(): void;
}

/** A dialog for one picture. Arrow keys show the previous or next one. */
function PictureViewer({ title, standing = '', picture, children, ...rest }: ViewerProps): JSX.Element {
  const { hasPrevious, hasNext, onStep, onClose } = rest;
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    const { key, target, currentTarget, altKey, ctrlKey, metaKey } = event;
    // A player that has the focus moves within its clip.
    if (altKey || ctrlKey || metaKey || target instanceof HTMLMediaElement) return;
    if (key === 'ArrowRight') onStep(1);
    else if (key === 'ArrowLeft') onStep(-1);
    else if (key === ' ' && target === currentTarget && togglePlayer(currentTarget)) event.preventDefault();
  };
  const bar = (
    <>
      <small aria-live="polite">{standing}</small>
      <button type="button" aria-label="Previous" disabled={!hasPrevious} onClick={() => onStep(-1)}>
        ←
      </button>
      <button type="button" aria-label="Next" disabled={!hasNext} onClick={() => onStep(1)}>
        →
      </button>
      <button type="button" aria-label="Close" onClick={onClose}>
        ✕
      </button>
    </>
  );
  return (
    <Dialog
      title={<bdi>{title}</bdi>}
      bar={bar}
      onClose={onClose}
      attributes={{ class: 'viewer', autofocus: true, onKeyDown }}
    >
      <figure {...useSwipe(onStep)}>{picture}</figure>
      <div class="stack wide">{children}</div>
    </Dialog>
  );
}
