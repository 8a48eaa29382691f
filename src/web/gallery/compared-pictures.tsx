/** A dialog with two to four pictures side by side, or one wiped over another. They move and zoom together. */
import type {
  JSX,
  TargetedKeyboardEvent,
  TargetedMouseEvent,
  TargetedPointerEvent,
  TargetedWheelEvent,
} from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { Dialog } from '../shared/dialog.tsx';
import { useLoaded } from '../shared/hooks.ts';
import { Image } from '../shared/picture-grid.tsx';
import { canStep, StepControls, SteppedClip, useSteps } from './clips-in-step.tsx';
import type { Marking } from './kept-marks.ts';
import { isPlainKey } from './key-target.ts';
import { KeyHint, letterOf, MarkButtons, markKeys } from './mark-buttons.tsx';
import type { Side } from './page-location.ts';
import { findScene, type ViewProps } from './scene-dialog.tsx';
import {
  apart,
  clipIn,
  inputsOf,
  nameOf,
  pictureBefore,
  scenePicture,
  seedWords,
  valuesOf,
} from './scene-picture.ts';
import { Facts } from '../shared/facts.tsx';
import { lengthWords, type ShownClip } from '../shared/grid-picture.ts';
import { counted } from '../shared/number-words.ts';
import { promptOf, textOf } from './query.ts';
import type { Rows } from './rows.ts';

export function ComparedPictures({ data, rows, place, go, marking }: ViewProps): JSX.Element {
  const { sides } = place;
  const compared = useLoaded([rows, JSON.stringify(sides)], () => loaded(sides, rows, data)) ?? [];
  const zooming = useZoom(compared.length === 2);
  const { wipe, setWipe } = zooming;
  const clips = compared.map(clipOfSide);
  const steps = useSteps(clips);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDialogElement>): void => {
    if (event.key !== ' ' || !steps.hasClips || event.target !== event.currentTarget)
      return zooming.onKeyDown(event);
    event.preventDefault();
    steps.toggle();
  };
  const close = (): void => go({ sides: [] });
  const bar = <Buttons {...zooming} canWipe={compared.length === 2} onClose={close} />;
  return (
    <Dialog
      title="Side by side"
      bar={bar}
      onClose={close}
      attributes={{ class: 'viewer compared', autofocus: true, onKeyDown }}
    >
      <Panes compared={compared} zooming={zooming} data={data} />
      {wipe !== undefined && (
        <input
          type="range"
          max="1"
          step="any"
          value={wipe}
          aria-label="Where A ends and B begins"
          onInput={(event) => setWipe(event.currentTarget.valueAsNumber)}
        />
      )}
      {steps.hasClips && <StepControls clips={clips} steps={steps} />}
      <div class="stack">
        <KeyHint keys={[...(steps.hasClips ? stepKeys : []), ...zoomKeys, ...markKeys(marking)]} />
        <Differences compared={compared} data={data} marking={marking} />
      </div>
    </Dialog>
  );
}

type ButtonsProps = Zooming & { canWipe: boolean; onClose(): void };

function Buttons({ wipe, toggleWipe, fit, zoomToPixels, canWipe, onClose }: ButtonsProps): JSX.Element {
  return (
    <>
      <button type="button" aria-pressed={wipe !== undefined} disabled={!canWipe} onClick={toggleWipe}>
        Wipe
      </button>
      <button type="button" onClick={fit}>
        Fit
      </button>
      <button type="button" title="Pixel by pixel" onClick={zoomToPixels}>
        1:1
      </button>
      <button type="button" aria-label="Close" onClick={onClose}>
        ✕
      </button>
    </>
  );
}

function Panes({
  compared,
  zooming,
  data,
}: {
  compared: Compared[];
  zooming: Zooming;
  data: GalleryData;
}): JSX.Element {
  const { zoom, wipe, frame } = zooming;
  const style = {
    '--across': acrossOf(compared),
    '--wipe': `${(wipe ?? 0) * 100}%`,
    '--move': `translate(${zoom.x * 100}%, ${zoom.y * 100}%) scale(${zoom.scale})`,
  };
  return (
    <div class={wipe === undefined ? 'panes' : 'panes wipe'} style={style}>
      {compared.map(({ side, index, row, file }, position) => {
        const shown = row ?? { state: 'gone', source: 'no such scene' };
        const clip = clipOfSide({ side, index, row, file });
        const { size: _, ...picture } = scenePicture(shown, index, { seed: seedWords(shown, data) });
        const name = `${picture.caption}${side.picture === 0 ? ', before' : ''}`;
        return (
          <figure
            key={`${side.number}.${side.picture}`}
            {...frame}
            data-scene={row?.id}
            aria-label={`${letterOf(position)}: ${name}`}
          >
            {clip !== undefined && canStep(clip) ? (
              <SteppedClip clip={clip} label={name} />
            ) : (
              <Image {...picture} sources={[file ?? []].flat()} />
            )}
            <figcaption>
              <b>{letterOf(position)}</b> <bdi>{name}</bdi>
            </figcaption>
          </figure>
        );
      })}
    </div>
  );
}

function loaded(sides: Side[], rows: Rows, data: GalleryData): Promise<Compared[]> {
  return Promise.all(
    sides.map(async (side) => {
      const { index, row } = await findScene(rows, side.number - 1, side.id);
      const own = row?.pictures?.[side.picture - 1]?.file;
      return { side, index, row, file: own ?? (row && pictureBefore(row, data)) };
    }),
  );
}

function clipOfSide({ side, row }: Compared): ShownClip | undefined {
  const picture = row?.pictures?.[side.picture - 1];
  return picture && clipIn(picture);
}

/** Four landscape pictures are largest in two rows. */
function acrossOf(compared: Compared[]): number {
  const { width = 1, height = 1 } = compared[0]?.row?.pictures?.[0] ?? {};
  return compared.length === 4 && width > height ? 2 : compared.length;
}

interface Compared {
  side: Side;
  index: number;
  /** Undefined if the scene no longer exists. */
  row: GalleryRow | undefined;
  /** URL of the picture; undefined if there is none. */
  file: string | undefined;
}

interface Props {
  compared: Compared[];
  data: GalleryData;
  marking: Marking;
}

/** A table of the values in which the compared scenes differ; equal values are collapsed. */
function Differences({ compared, data, marking }: Props): JSX.Element {
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
    ['pixels', picture === undefined || picture.width === 0 ? '' : `${picture.width} × ${picture.height}`],
    ['length', lengthWords(picture?.output?.clip ?? {})],
    ['frame rate', textOf(picture?.output?.clip?.frameRate)],
    ['codecs', picture?.output?.clip?.codecs?.join(', ') ?? ''],
    ['file', file === undefined ? '' : nameOf(file)],
  ]);
}

interface Zoom {
  scale: number;
  /** Offset of the picture's centre from the centre of its frame, in widths and heights of the frame. */
  x: number;
  y: number;
}

const whole: Zoom = { scale: 1, x: 0, y: 0 };

const maxScale = 40;

/** A drag that starts this close to the wipe's edge moves the edge. In widths of the frame. */
const nearLine = 0.04;

const stepKeys: [string, string][] = [['space', 'play']];

const zoomKeys: [string, string][] = [
  ['+ −', 'zoom'],
  ['← ↑ → ↓', 'move'],
  ['0', 'fit'],
  ['1', 'pixels'],
  ['W', 'wipe'],
];

type Zooming = ReturnType<typeof useZoom>;

/** Zoom and wipe. While a picture fits, drags move the wipe, from 0 to 1; undefined if it is off. */
function useZoom(canWipe: boolean) {
  const [zoom, setZoom] = useState(whole);
  const [wiped, setWiped] = useState<number>();
  const wipe = canWipe ? wiped : undefined;
  const setWipe = (share: number): void => setWiped(Math.min(1, Math.max(0, share)));
  const toggleWipe = (): void => setWiped(wiped === undefined ? 0.5 : undefined);
  const zoomAt = (factor: number, at = { x: 0, y: 0 }): void =>
    setZoom((before) => zoomed(before, factor, at));
  const fit = (): void => setZoom(whole);
  const zoomToPixels = (): void =>
    setZoom((before) => zoomed(before, scaleOfPixels() / before.scale, { x: 0, y: 0 }, 0));
  const move = (x: number, y: number): void =>
    setZoom(({ scale, ...at }) => within({ scale, x: at.x + x, y: at.y + y }));
  const step = (x: number, y: number): void =>
    wipe !== undefined && zoom.scale <= 1 ? setWipe(wipe - x / 2) : move(x, y);
  const actions: Record<string, () => void> = {
    '+': () => zoomAt(1.25),
    '=': () => zoomAt(1.25),
    '-': () => zoomAt(0.8),
    '0': fit,
    '1': zoomToPixels,
    w: toggleWipe,
    arrowleft: () => step(0.1, 0),
    arrowright: () => step(-0.1, 0),
    arrowup: () => step(0, 0.1),
    arrowdown: () => step(0, -0.1),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = actions[event.key.toLowerCase()];
    if (act === undefined || !isPlainKey(event) || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    act();
  };
  const frame = useFrame(zoomAt, (from, to) => {
    const isAtLine = wipe !== undefined && Math.abs(from.x + 0.5 - wipe) < nearLine;
    if (wipe !== undefined && (isAtLine || zoom.scale <= 1)) setWipe(to.x + 0.5);
    else move(to.x - from.x, to.y - from.y);
  });
  return { zoom, wipe, setWipe, toggleWipe, fit, zoomToPixels, onKeyDown, frame };
}

interface Point {
  x: number;
  y: number;
}

/** Zooms around the point `at`. The scale only falls below 1 if `least` allows it, as 1:1 pixels may need. */
function zoomed({ scale: before, x, y }: Zoom, factor: number, at: Point, least = 1): Zoom {
  const scale = Math.min(maxScale, Math.max(Math.min(least, before), before * factor));
  const by = scale / before;
  return within({ scale, x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by });
}

function useFrame(zoomAt: (factor: number, at: Point) => void, drag: (from: Point, to: Point) => void) {
  const fingers = useRef(new Map<number, Point>()).current;
  const follow = (event: TargetedPointerEvent<HTMLElement>): void => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const now = placeIn(event);
    fingers.set(event.pointerId, now);
    const [other] = [...fingers].flatMap(([id, point]) => (id === event.pointerId ? [] : [point]));
    if (other === undefined) drag(before, now);
    else zoomAt(distance(now, other) / Math.max(0.01, distance(before, other)), other);
  };
  const leave = ({ pointerId }: PointerEvent): void => void fingers.delete(pointerId);
  return {
    onWheel: (event: TargetedWheelEvent<HTMLElement>): void => {
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), placeIn(event));
    },
    onPointerDown: (event: TargetedPointerEvent<HTMLElement>): void => {
      event.currentTarget.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, placeIn(event));
    },
    onPointerMove: follow,
    onPointerUp: leave,
    onPointerCancel: leave,
  };
}

/** Returns the position relative to the frame's centre, in widths and heights of the frame. */
function placeIn({ currentTarget, clientX, clientY }: TargetedMouseEvent<HTMLElement>): Point {
  const { left, top, width, height } = currentTarget.getBoundingClientRect();
  return { x: (clientX - left) / width - 0.5, y: (clientY - top) / height - 0.5 };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** Limits the offset so that the picture covers its frame. */
function within({ scale, x, y }: Zoom): Zoom {
  const most = Math.max(0, scale - 1) / 2;
  return { scale, x: Math.min(most, Math.max(-most, x)), y: Math.min(most, Math.max(-most, y)) };
}

/** Returns the scale at which a pixel of the first picture is a pixel of the screen. */
function scaleOfPixels(): number {
  const shown = document.querySelector<HTMLImageElement | HTMLVideoElement>('.panes :is(img, video)');
  if (shown === null) return 1;
  const [naturalWidth, naturalHeight] =
    shown instanceof HTMLVideoElement
      ? [shown.videoWidth, shown.videoHeight]
      : [shown.naturalWidth, shown.naturalHeight];
  if (naturalWidth === 0) return 1;
  const { clientWidth, clientHeight } = shown;
  return 1 / Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) / devicePixelRatio;
}
