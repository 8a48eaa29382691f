/** The pictures of a job's output. */
import type { JSX } from 'preact';
import type { JobView } from '../../protocol/console-data.ts';

export function JobPictures({ job: { id, pictures, summary } }: { job: JobView }): JSX.Element {
  const shown = pictures.filter((address) => address.startsWith('data:image/'));
  return (
    <ul class="job-pictures">
      {shown.map((address, index) => (
        <li key={index}>
          <img src={address} alt={summary === '' ? `Picture ${index + 1} of job ${id}` : summary} />
          <a class="small-text" href={address} download={`${id}-${index + 1}.${kindOf(address)}`}>
            Save picture{shown.length > 1 ? ` ${index + 1}` : ''}
          </a>
        </li>
      ))}
    </ul>
  );
}

function kindOf(address: string): string {
  return /^data:image\/([a-z]+)/.exec(address)?.[1]?.replace('jpeg', 'jpg') ?? 'png';
}
