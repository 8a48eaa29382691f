/** One picture as large as the window allows, with what it was made of. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LivePicture, PictureStory } from '../../runner/core/live-batch.ts';
import { fetchStory } from './follow-batch.ts';
import { byteWords, durationWords, instantWords } from '../shared/number-words.ts';
import { imageAddress } from './picture-addresses.ts';

interface Props {
  pictures: LivePicture[];
  index: number;
  onMove(index: number): void;
  onClose(): void;
}

export function PictureViewer({ pictures, index, onMove, onClose }: Props): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const picture = pictures[index];
  useEffect(() => dialog.current?.showModal(), []);
  const move = (to: number): void => {
    if (pictures[to] !== undefined) onMove(to);
  };
  const onKeyDown = ({ key }: KeyboardEvent): void => {
    if (key === 'ArrowLeft') move(index - 1);
    if (key === 'ArrowRight') move(index + 1);
  };
  if (picture === undefined) return null;
  return (
    <dialog ref={dialog} class="viewer" aria-labelledby="viewed" onClose={onClose} onKeyDown={onKeyDown}>
      <div class="bar">
        <h2 id="viewed">
          <bdi>{picture.sceneId}</bdi>
        </h2>
        <button type="button" disabled={index === 0} onClick={() => move(index - 1)}>
          Newer
        </button>
        <button type="button" disabled={index === pictures.length - 1} onClick={() => move(index + 1)}>
          Older
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <img
        key={picture.id}
        src={imageAddress(picture)}
        width={picture.width}
        height={picture.height}
        alt={picture.prompt === '' ? picture.sceneId : picture.prompt}
      />
      <p class="prompt">
        <bdi>{picture.prompt}</bdi>
      </p>
      <Facts picture={picture} />
    </dialog>
  );
}

function Facts({ picture }: { picture: LivePicture }): JSX.Element {
  const story = useStory(picture.id);
  const rows: [string, string | null | undefined][] = [
    ['file', picture.file],
    ['size', `${picture.width} × ${picture.height}, ${byteWords(picture.bytes)}`],
    ['seed', story?.seed],
    ['saved', picture.savedAt === null ? null : instantWords(picture.savedAt)],
    ['job', story?.jobId],
    ['attempt', story === undefined || story.attempt === 1 ? null : String(story.attempt)],
    ['in the queue', timeWords(story?.delayTimeMs)],
    ['executed', timeWords(story?.executionTimeMs)],
    ['row', story?.source],
  ];
  return (
    <>
      <dl class="facts">
        {rows.map(([name, text]) =>
          text === null || text === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{text}</bdi>
              </dd>
            </div>
          ),
        )}
      </dl>
      {story !== undefined && (
        <details>
          <summary>Input</summary>
          <pre>{story.input}</pre>
        </details>
      )}
    </>
  );
}

function timeWords(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : durationWords(ms);
}

/** Undefined until it is there, and where it is no more. */
function useStory(id: number): PictureStory | undefined {
  const [story, setStory] = useState<PictureStory>();
  useEffect(() => {
    let isWanted = true;
    void fetchStory(id).then(
      (found) => isWanted && setStory(found),
      () => isWanted && setStory(undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [id]);
  return story?.id === id ? story : undefined;
}
