/** One scene in full: its pictures, prompt, inputs, seed and story; arrow keys move on to the next. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { GalleryColumn, GalleryRow } from '../../runner/core/gallery-data.ts';
import { Image } from '../shared/picture-grid.tsx';
import type { Rows } from './rows.ts';
import { scenePicture } from './scene-picture.ts';
import { SceneStory } from './scene-story.tsx';
import type { Selection } from './use-selection.ts';

interface Props {
  rows: Rows;
  columns: GalleryColumn[];
  /** What comes before and after. */
  order: Selection;
  open: { number: number; id: string };
  onOpen(index: number, row: GalleryRow): void;
  onClose(): void;
}

export function SceneDialog({ rows, columns, order, open, onOpen, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const found = useScene(rows, open);
  const [chosen, setChosen] = useState({ of: -1, picture: 0 });
  const index = found?.index ?? open.number - 1;
  const position = order.positionOf(index);
  const pictures = found?.row?.pictures ?? [];
  const picture = chosen.of === index ? chosen.picture : 0;

  useEffect(() => {
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, []);
  const step = (by: 1 | -1): void => {
    const within = picture + by;
    if (within >= 0 && within < pictures.length) return setChosen({ of: index, picture: within });
    const next = position < 0 ? undefined : order.at(position + by);
    if (next === undefined) return;
    const turn = async (): Promise<void> => {
      const row = await rows.at(next);
      if (row === undefined) return;
      setChosen({ of: next, picture: by === 1 ? 0 : Math.max(0, (row.pictures?.length ?? 0) - 1) });
      onOpen(next, row);
    };
    turn().catch(() => location.reload());
  };
  const close = (): void => {
    onClose();
    // The page may have been turned meanwhile: the reader goes on at the picture that was looked at last.
    setTimeout(() => document.querySelector<HTMLElement>(`.picture[data-key="${index + 1}"]`)?.focus());
  };
  return (
    <dialog
      ref={dialog}
      class="scene"
      autofocus
      aria-labelledby="scene-title"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onKeyDown={(event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
        if (event.key === 'ArrowRight') step(1);
        else if (event.key === 'ArrowLeft') step(-1);
      }}
    >
      <div class="scene-bar">
        <h2 id="scene-title">
          <bdi>{found?.row?.id ?? found?.row?.source ?? (found === undefined ? '…' : 'No such scene')}</bdi>
        </h2>
        <span class="soft" aria-live="polite">
          {position < 0
            ? ''
            : `${(position + 1).toLocaleString('en')} of ${order.count.toLocaleString('en')}`}
          {pictures.length > 1 ? ` · picture ${picture + 1} of ${pictures.length}` : ''}
        </span>
        <button
          type="button"
          aria-label="Previous"
          onClick={() => step(-1)}
          disabled={picture === 0 && position <= 0}
        >
          ←
        </button>
        <button
          type="button"
          aria-label="Next"
          onClick={() => step(1)}
          disabled={picture >= pictures.length - 1 && (position < 0 || position >= order.count - 1)}
        >
          →
        </button>
        <button type="button" aria-label="Close" onClick={close}>
          ✕
        </button>
      </div>
      {found?.row !== undefined && (
        <Scene row={found.row} index={index} picture={picture} columns={columns} />
      )}
    </dialog>
  );
}

interface SceneProps {
  row: GalleryRow;
  index: number;
  picture: number;
  columns: GalleryColumn[];
}

function Scene({ row, index, picture, columns }: SceneProps): JSX.Element {
  const { alt, state, word } = scenePicture(row, index);
  const shown = row.pictures?.[picture];
  return (
    <div class="scene-parts">
      <figure>
        <Image sources={shown === undefined ? [] : [shown.file]} alt={alt} state={state} word={word} />
      </figure>
      <SceneStory row={row} picture={shown} columns={columns} />
    </div>
  );
}

/** A number may have come to be another scene's in a newer report; then the id counts. */
function useScene(
  rows: Rows,
  { number, id }: { number: number; id: string },
): { index: number; row: GalleryRow | undefined } | undefined {
  const [found, setFound] = useState<{ asked: string; index: number; row: GalleryRow | undefined }>();
  const asked = `${number} ${id}`;
  useEffect(() => {
    let isCurrent = true;
    const look = async (): Promise<void> => {
      const scene = await find(rows, number - 1, id);
      if (isCurrent) setFound({ asked, ...scene });
    };
    look().catch(() => isCurrent && setFound({ asked, index: number - 1, row: undefined }));
    return () => {
      isCurrent = false;
    };
  }, [asked]);
  return found;
}

async function find(
  rows: Rows,
  index: number,
  id: string,
): Promise<{ index: number; row: GalleryRow | undefined }> {
  const there = await rows.at(index);
  if (there !== undefined && (there.id ?? '') === id) return { index, row: there };
  if (id === '') return { index, row: there };
  for (let chunk = 0; chunk < rows.chunks; chunk++) {
    const all = await rows.chunk(chunk);
    const offset = all.findIndex((row) => row.id === id);
    if (offset !== -1) return { index: rows.startOf(chunk) + offset, row: all[offset] };
  }
  return { index, row: undefined };
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}
