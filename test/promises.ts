/** What the program promises (PROMISES.md), each sentence with the test that shows it; kept true by readme.test.ts. */

export interface Promised {
  says: string;
  /** Below test/. */
  file: string;
  /** As in the file: of a test, or of a group of tests all of which show it; `…` for what is filled in. */
  title: string;
}

export const promises: Record<string, Promised[]> = {
  'Nothing is lost': [
    {
      says: 'The program may die before or after anything that it does, and die again while it recovers: the same command goes on, no scene is missing, no picture is wrong, and every result that was paid for is collected.',
      file: 'runner/pipeline/kill-at-every-call.test.ts',
      title: 'survives a death at every call, and another one in what resumes it',
    },
    {
      says: 'So it does when it is killed for real at random moments, as the books of the service tell.',
      file: 'e2e/kill.test.ts',
      title: "goes on after … kills at random moments, with the service's own books agreeing",
    },
    {
      says: 'It also does while the service does everything wrong that a service can do; no result expires while a run is up.',
      file: 'e2e/chaos.test.ts',
      title: 'keeps every promise through … kills against a service that does everything wrong',
    },
    {
      says: 'Whatever disks, clocks, people and the service do to a batch between and during its starts: no picture is wrong, nothing is paid undeclared, every refusal names a way that leads on, and in the end every scene is saved.',
      file: 'simulation/nights.test.ts',
      title: '300 nights',
    },
    {
      says: 'So it is where any file of a batch is missing, empty, cut, of the day before, or has a byte flipped.',
      file: 'simulation/damage-sweep.test.ts',
      title: 'a part of the sweep, SWEEP_SEED=…',
    },
    {
      says: 'Every move is on the disk before the next step: the intent before the request, the job id before it is first asked for, the picture before it counts as saved.',
      file: 'e2e/fsync-order.test.ts',
      title:
        'intent before the POST, job id before the first GET, picture before it counts as saved (skipped where strace is not there, or may not trace)',
    },
    {
      says: 'An input or a job id that was damaged in the checkpoint is noticed where it is read: nothing is sent or saved on its word, and the run ends with words that say so.',
      file: 'runner/pipeline/damaged-rows.test.ts',
      title: 'is not sent with … changed, and what was paid is collected by later runs',
    },
    {
      says: 'A damaged checkpoint is repaired by `verify --repair`: what can be read is kept, what is lost is counted as unanswered.',
      file: 'runner/checkpoint/repair-checkpoint.test.ts',
      title: 'counts submissions whose rows cannot be read as unanswered, and keeps all others',
    },
    {
      says: 'A write-ahead log that was removed, cut, changed or replaced after a crash is noticed before anything is sent; a person may accept the loss, which is then declared.',
      file: 'runner/checkpoint/lost-log.test.ts',
      title: 'a log that was … is refused, and can be accepted as a loss that is declared',
    },
    {
      says: 'On resume what is in flight is asked for before anything is submitted, the oldest first.',
      file: 'runner/pipeline/run-batch.test.ts',
      title:
        'asks for the jobs in flight first, the oldest before the others, and submits none of them again',
    },
    {
      says: 'A job whose status can never be read is given up by its deadline, and only while the service answers.',
      file: 'runner/pipeline/unreadable-jobs.test.ts',
      title: 'is given up and rendered again where it is the last one (…)',
    },
    {
      says: 'While a run is up, every result is collected within a minute of its completion, long before it may expire.',
      file: 'runner/pipeline/retention.test.ts',
      title: 'collects every result within a minute, with … jobs in flight',
    },
    {
      says: 'A row that is edited is rendered anew, and its old picture is kept beside the new one.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'keeps the old picture of an edited row beside the new one, under a name that tells',
    },
    {
      says: 'No file is overwritten by a picture: what has its name already is kept as `.former`.',
      file: 'runner/images/image-store.test.ts',
      title: 'keeps what has the name already as .former, with what lies beside it',
    },
    {
      says: 'A run says that every scene is saved only where every picture still is in the folder, in its size.',
      file: 'runner/pipeline/missing-pictures.test.ts',
      title: 'a run whose pictures are not there',
    },
    {
      says: 'A row that goes while its job is in flight loses no picture.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'still collects what is in flight for rows that are gone, and keeps their pictures',
    },
    {
      says: 'Two scenes never share a file, also where names differ in case alone.',
      file: 'runner/pipeline/run-batch.test.ts',
      title:
        'gives names that would be one file to one scene only, also where they are written at the same moment',
    },
    {
      says: 'A scene that the program died with three times is set aside as `quarantined`, and no other with it.',
      file: 'runner/pipeline/deaths.test.ts',
      title: 'sets aside the scene whose result the program dies with three times; all others are rendered',
    },
    {
      says: 'A full disk sets no scene aside, however often.',
      file: 'runner/pipeline/deaths.test.ts',
      title: 'holds no death against scenes whose pictures a full disk does not take, however often',
    },
    {
      says: 'The report can always be written anew from the checkpoint alone.',
      file: 'e2e/road.test.ts',
      title: 'rebuilds the report from the checkpoint alone',
    },
  ],
  'No wrong picture': [
    {
      says: 'No damaged PNG ever gets a final name.',
      file: 'runner/images/corrupt-png.test.ts',
      title: 'no file comes of a PNG',
    },
    {
      says: 'Nor does a damaged JPEG or WebP.',
      file: 'runner/images/corrupt-pictures.test.ts',
      title: 'no file comes of',
    },
    {
      says: 'Nor does text that is no strict base64.',
      file: 'runner/images/corrupt-pictures.test.ts',
      title: 'no file comes of a text that is',
    },
    {
      says: 'Black pictures and thumbnails are no success where `check` says so.',
      file: 'runner/images/demands.test.ts',
      title: 'check.blank refuses',
    },
    {
      says: 'The same damaged bytes twice set the scene aside, instead of paying a third time.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'that bring the very same damaged bytes set the scene aside at the second',
    },
    {
      says: 'A service that gives one job id twice brings no picture of another scene.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'that is answered with the id of another job brings no picture of another scene',
    },
    {
      says: 'A service that gives all jobs the same id is paid for three of them, and the run ends with words that name it.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'is paid for three where it gives all jobs the same id, and saves nobody the picture of another',
    },
    {
      says: '`verify` finds what is missing, cut or changed since; `--repair` has exactly that rendered again.',
      file: 'e2e/verify.test.ts',
      title: 'puts exactly the bad ones back, keeps what is damaged, and the next run renders them',
    },
  ],
  'Nothing is paid twice without need': [
    {
      says: 'A finished batch that is started again sends nothing.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'does nothing the second time',
    },
    {
      says: 'After twenty minutes of being down nothing is submitted again.',
      file: 'runner/pipeline/missing-jobs.test.ts',
      title: 'submits nothing again after a stop of 20 minutes',
    },
    {
      says: 'After forty minutes exactly what has expired is, once all that was in flight was asked for.',
      file: 'runner/pipeline/missing-jobs.test.ts',
      title: 'resubmits exactly what has expired, after all jobs were asked for, when /health answers',
    },
    {
      says: 'An endpoint that answers 404 for everything stops the run, with one submission.',
      file: 'runner/pipeline/missing-jobs.test.ts',
      title:
        'stops with 12 where endpoint and jobs are gone, with one submission and every attempt as it was',
    },
    {
      says: 'One that takes jobs and loses every one of them halts the run as failures do.',
      file: 'runner/pipeline/missing-jobs.test.ts',
      title: 'halts at an endpoint … that loses every job it takes',
    },
    {
      says: 'A clock that jumps by a day, either way, expires nothing.',
      file: 'runner/pipeline/missing-jobs.test.ts',
      title: 'takes no job for expired when the clock was set forward by a day, nor when it was set back',
    },
    {
      says: 'A submission that got no answer may run and bill: it is declared as `unanswered`, then submitted again.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'without an answer is declared, and the scene submitted again',
    },
    {
      says: 'The report names every scene that has such submissions, also where a later one brought the picture.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'are listed in the report, also where a later one brought the picture',
    },
    {
      says: 'With `retry.unanswered: hold` it is not, until you say so.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'are held for a person who wants to decide: nothing is submitted again',
    },
    {
      says: 'The program never sends a submission twice by itself where a connection dies under it.',
      file: 'runner/client/broken-connections.test.ts',
      title: 'sends nothing twice by itself where a used connection turns out to be dead',
    },
    {
      says: 'A service that names its jobs in a way that nobody can ask for is paid for one, and the run ends.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'is paid for no more of them: the run ends, and what was paid is declared',
    },
    {
      says: 'No scene is submitted more often than `retry.submissions`, whatever becomes of it.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'never happens more often than the bound says, whatever becomes of it',
    },
    {
      says: 'A row that is edited back costs nothing: its picture takes its name again.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'pays nothing for a row that was edited back, and its picture takes its name again',
    },
    {
      says: 'Of a list of ten thousand that was edited half-way, exactly the new and the edited rows are submitted.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'submits exactly the new and the edited rows of a half-done list',
    },
    {
      says: 'A job without output, which mostly fails the same way again, is tried once more only.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'without output is tried once more only',
    },
    {
      says: 'An input that the service refuses fails its scene at once.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'that is refused for its input fails the scene at once',
    },
    {
      says: 'An overdue job is cancelled at the service, so that it does not go on billing.',
      file: 'runner/pipeline/overdue.test.ts',
      title: 'is cancelled and rendered by another attempt',
    },
    {
      says: '`cancel` saves what is done already: it is paid.',
      file: 'e2e/cancel.test.ts',
      title: 'saves what is done already: it is paid',
    },
    {
      says: 'A download that fails is tried again; the job is paid once.',
      file: 'runner/pipeline/downloads.test.ts',
      title: 'is tried again after growing waits, and the job is paid once',
    },
    {
      says: '`retry` puts back exactly the scenes that you choose.',
      file: 'e2e/retry.test.ts',
      title: '… puts back …, which the next run renders, and no others',
    },
    {
      says: '`retry --again` has a saved picture rendered again, with another seed if asked, and keeps the old one.',
      file: 'e2e/retry.test.ts',
      title: '--again renders a saved scene again with another seed, and keeps its picture',
    },
    {
      says: 'Where the checkpoint is gone, nothing is paid again without a word: the run is refused, and pictures that fit are taken over (`--adopt`), each checked.',
      file: 'e2e/lost-checkpoint.test.ts',
      title: 'takes over what fits (metadata: …), and renders what does not',
    },
    {
      says: 'A preview (`--sample`, `--limit`) is part of the full run: whatever previews and deaths come one after the other, each scene is paid once.',
      file: 'runner/pipeline/preview.test.ts',
      title: 'is never paid twice, whatever parts and deaths come one after the other',
    },
  ],
  'It stops by itself': [
    {
      says: '`limits.cost` is exceeded by one job at most.',
      file: 'runner/pipeline/limits.test.ts',
      title: 'is exceeded by one job at most, with … lanes, and nearly used up',
    },
    {
      says: 'The limit holds over crashes and later runs.',
      file: 'runner/pipeline/limits.test.ts',
      title: 'holds over a crash and the next run',
    },
    {
      says: '`limits.jobs` bounds the submissions of all runs together.',
      file: 'runner/pipeline/limits.test.ts',
      title: 'bounds the submissions of the batch, over all its runs',
    },
    {
      says: '`limits.for` submits nothing once the time is over, and what is in flight is collected.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'submits nothing after its time is over, and collects what is in flight',
    },
    {
      says: '`limits.until` submits nothing that is not expected to be done by then.',
      file: 'runner/pipeline/limits.test.ts',
      title: 'submits nothing that is not expected to be done by then, and is done by then',
    },
    {
      says: 'Failures one after the other halt the run, and what is in flight is collected.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'halts after so many failed attempts in a row, and collects what is in flight',
    },
    {
      says: 'So does too large a share of failures.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'halt the run when too large a share fails, though some succeed',
    },
    {
      says: 'A service that answers no submission for half an hour ends the run, with no scene set aside.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'for half an hour end the run, resumable, with no scene set aside',
    },
    {
      says: 'Status requests that are not answered stop submissions within minutes, and the run after half an hour, with its jobs left to the next one.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title:
        'for status requests stops new submissions within minutes, and the run after half an hour, leaving its jobs',
    },
    {
      says: 'A job that stays in the queue longer than `timeouts.queue` has failed, and does not hold up the night.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'is bounded by the deadlines of queue and execution',
    },
    {
      says: 'A refused key ends it after as many requests as there are lanes at most, with every scene as it was.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'ends the run after at most as many requests as lanes, and leaves every scene as it was',
    },
    {
      says: 'A busy service (429) costs time only, is given as long as it asks for, and fails no scene.',
      file: 'runner/pipeline/run-batch.test.ts',
      title: 'that meets a busy service waits as long as it is told to, and no scene fails of it',
    },
    {
      says: 'The service is sent no more submissions than `rate` allows in any ten seconds.',
      file: 'runner/pipeline/service-trouble.test.ts',
      title: 'is asked for no more than the set number in any ten seconds',
    },
  ],
  'Disk, files and processes': [
    {
      says: 'A full disk ends the run in order (14), nothing half has a name, and the next run saves what is left, paying nothing twice.',
      file: 'e2e/disk.test.ts',
      title: 'full: ends with 14 and goes on when there is room …',
    },
    {
      says: 'So do a folder in the place of a picture …',
      file: 'e2e/disk.test.ts',
      title: 'a folder that has the name of a picture: the same',
    },
    {
      says: '… and too many open files.',
      file: 'e2e/disk.test.ts',
      title:
        'too many open files: 14, in a sentence, wherever it is met (skipped where a shell has no ulimit)',
    },
    {
      says: 'Ids of accepted jobs are not lost to a full disk: room is kept for them.',
      file: 'runner/checkpoint/checkpoint.test.ts',
      title: 'loses no id of a job that was accepted: the reserved room is for these',
    },
    {
      says: 'A damaged checkpoint is refused in a sentence and left as it is.',
      file: 'runner/checkpoint/checkpoint.test.ts',
      title: 'with flipped bytes is refused in a sentence and left as it is',
    },
    {
      says: 'So is one of a newer version.',
      file: 'runner/checkpoint/checkpoint.test.ts',
      title: 'by a newer version is refused in a sentence',
    },
    {
      says: 'Of fifty starts at once one runs, and all others name it.',
      file: 'e2e/starts.test.ts',
      title: 'of … starts at once on … one runs, and all others name it',
    },
    {
      says: 'A lock file that is deleted beside a live run lets no second one in (on Linux).',
      file: 'e2e/starts.test.ts',
      title:
        'lets nobody in where the lock files were deleted beside a live run, and the next start once that is killed',
    },
    {
      says: 'The lock is free as soon as its holder is dead.',
      file: 'e2e/starts.test.ts',
      title: 'gives the lock to the next start after a kill, whatever the dead one left',
    },
    {
      says: 'SIGINT and SIGTERM leave the jobs in flight on record, and the next run submits none of them again.',
      file: 'e2e/exit-codes.test.ts',
      title: '…: ends with …, the jobs in flight stay on record, and nothing is submitted again',
    },
    {
      says: 'They end the run once `shutdown.grace` is over, though the service answers nothing.',
      file: 'e2e/leave.test.ts',
      title: 'ends once the grace is over, though answers are awaited that never come',
    },
    {
      says: 'A second one ends it at once, still resumable.',
      file: 'e2e/leave.test.ts',
      title: 'ends at once at the second signal, though the grace is long',
    },
    {
      says: 'SIGHUP finishes what is in flight and submits nothing more.',
      file: 'e2e/finish.test.ts',
      title: 'ends with 3 where scenes are left, with nothing in flight, however often it is sent',
    },
    {
      says: 'A run goes on when nobody reads its output any more.',
      file: 'e2e/disk.test.ts',
      title: 'goes on to the end where … (skipped where there is no such shell)',
    },
  ],
  'Your key and your prompts': [
    {
      says: 'The key is in nothing that a run leaves or says.',
      file: 'e2e/canary.test.ts',
      title: 'keeps the key out of everything a good run leaves and says',
    },
    {
      says: 'Nor does it get there through a service that repeats it.',
      file: 'e2e/canary.test.ts',
      title: 'keeps the key out of what a service says back that repeats it everywhere',
    },
    {
      says: 'A redirect is not followed with it.',
      file: 'runner/client/submit-answers.test.ts',
      title: 'does not follow a redirect (…), nor take the key there',
    },
    {
      says: 'It does not go to an address where another run has left jobs, until you say so.',
      file: 'e2e/retry.test.ts',
      title:
        'jobs in flight at another address: the key does not go there, until they are collected or given up',
    },
    {
      says: 'Plain http to another machine warns.',
      file: 'runner/config/settings.test.ts',
      title: 'plain http to another machine warns: …',
    },
    {
      says: 'Pictures are downloaded over https from listed hosts only …',
      file: 'runner/client/downloads.test.ts',
      title: 'an address is refused, and nothing is looked up',
    },
    {
      says: '… and never from this machine or its network.',
      file: 'runner/client/downloads.test.ts',
      title: 'is refused where it is …, and no connection is made',
    },
    {
      says: 'An answer larger than `limits.body` is not read to its end.',
      file: 'runner/client/bodies.test.ts',
      title: 'is not fetched any further',
    },
    {
      says: 'Of answers with pictures no more are in memory at a time than fit into `limits.memory`, and all come.',
      file: 'runner/client/memory-budget.test.ts',
      title: 'are never more at a time than have room, and all come',
    },
    {
      says: 'One that is larger than `limits.memory` comes through alone.',
      file: 'runner/client/memory-budget.test.ts',
      title: 'one … that is larger than all of it comes through, alone',
    },
    {
      says: 'A picture of more pixels than `limits.pixels` is not taken.',
      file: 'runner/images/check-picture.test.ts',
      title: 'a JPEG, WebP or PNG with more pixels than allowed',
    },
    {
      says: 'A template reads no file but by `file_base64`.',
      file: 'runner/config/template.test.ts',
      title: 'reads no file',
    },
    {
      says: 'A list has no file sent from outside of the folder of pipeline.yaml, or of one that the template names.',
      file: 'runner/config/file-base64.test.ts',
      title: 'from outside of the folder of pipeline.yaml: …',
    },
    {
      says: 'A file that is another than when the list was read is not sent.',
      file: 'runner/client/sending-files.test.ts',
      title: 'nothing is sent where the file is …',
    },
    {
      says: 'The address of a monitor or a chat stands in no output, report or checkpoint.',
      file: 'e2e/notify.test.ts',
      title: 'a whole run: start, then success; no address and no key anywhere',
    },
    {
      says: 'No name leads out of the folder of pictures, whatever the manifest says.',
      file: 'runner/core/naming.test.ts',
      title: 'leads to no place but below the folder, on any system, for any text',
    },
    {
      says: 'What holds prompts or ids is for your eyes alone (0600).',
      file: 'e2e/private-files.test.ts',
      title: 'in the output folder, during and after a run with the local service',
    },
  ],
  'Before: the plan is what happens': [
    {
      says: '`plan` accepts exactly what `run` accepts, refuses the rest in the same words, and leaves no trace in the folder.',
      file: 'commands/plan-accepts.test.ts',
      title: 'whatever the file, the list and the folder say',
    },
    {
      says: 'The requests and file names that it tells are those of the run.',
      file: 'e2e/plan.test.ts',
      title: 'tells the requests that a run then sends and the files that it then makes, and writes nothing',
    },
    {
      says: 'It disturbs no run that is at work.',
      file: 'e2e/plan.test.ts',
      title: 'works beside a live run, which goes on, and tells of a killed one',
    },
    {
      says: '`plan --check` starts no job.',
      file: 'e2e/plan.test.ts',
      title: 'asks the service with --check, and starts nothing there',
    },
    {
      says: '`init` overwrites no file.',
      file: 'e2e/init.test.ts',
      title: 'overwrites nothing and says which file is there',
    },
    {
      says: 'A list that has lost more than a third of its scenes and has no new one is asked about before anything changes.',
      file: 'commands/fewer-scenes.test.ts',
      title: 'is refused though its last line is cut off, too',
    },
    {
      says: 'An endpoint that is another one than before is told, and the results tell where each picture was made.',
      file: 'commands/changed-endpoint.test.ts',
      title: 'is told by the run, and each row of the results has its own',
    },
    {
      says: 'results.csv holds nothing that a spreadsheet would run as a formula.',
      file: 'runner/report/results.test.ts',
      title: 'results.csv has nothing that a spreadsheet would run as a formula, and numbers as they are',
    },
    {
      says: 'An input that sends every row the same is refused, with the likely slip and its place.',
      file: 'commands/row-inputs.test.ts',
      title: 'shows the likely slip: …',
    },
    {
      says: 'Where the checkpoint or its folder is removed during a run, its last words say what is lost and what to do.',
      file: 'commands/removed-files.test.ts',
      title: 'of $rows scenes, where $gone goes during the first',
    },
    {
      says: 'A preview takes scenes from all over the list, and withdraws none.',
      file: 'runner/pipeline/preview.test.ts',
      title: 'renders as many as asked for, from all over the list, and withdraws nothing',
    },
    {
      says: 'The order of lists and values changes no id and no seed of expanded scenes.',
      file: 'runner/core/expansion.test.ts',
      title: 'the order of lists and of their values changes no id and no seed',
    },
    {
      says: 'More values and more seeds keep every scene that was there …',
      file: 'runner/core/expansion.test.ts',
      title: 'longer lists and more seeds keep every scene that was there',
    },
    {
      says: '… so that only the new ones are rendered.',
      file: 'e2e/expansion.test.ts',
      title: 'renders only the scenes of a style, a seed and a row that are new',
    },
    {
      says: 'Seeds are below 2^31; a batch that was begun with larger ones keeps them.',
      file: 'commands/seed-range.test.ts',
      title: 'a batch with seeds of 32 bits keeps every scene, and more seeds of it are of the same range',
    },
    {
      says: 'A column that is declared a number, a boolean or JSON is sent as one, also from a CSV.',
      file: 'commands/read-scenes.test.ts',
      title: 'declared columns arrive with their types, from texts and from values that have them',
    },
  ],
  'During: looking changes nothing': [
    {
      says: '`status` tells a live, an ended and a killed run, without the key.',
      file: 'e2e/status.test.ts',
      title: 'tells a live run, without the key and though the manifest is gone; then its violent death',
    },
    {
      says: 'So does `list` …',
      file: 'e2e/list.test.ts',
      title: 'tells a live run, and the same after its violent death',
    },
    {
      says: '… and `explain`.',
      file: 'e2e/explain.test.ts',
      title: 'tells what a live run does with a scene, and what is left of it after a violent death',
    },
    {
      says: 'The page of `watch` changes nothing, whoever asks.',
      file: 'runner/watch/watch-server.test.ts',
      title: 'nobody may …: nothing can be changed',
    },
    {
      says: 'It shows no key.',
      file: 'e2e/watch.test.ts',
      title: 'waits for the first run, tells it without its key, and tells its violent death',
    },
    {
      says: 'No page of another site can read it.',
      file: 'runner/watch/watch-server.test.ts',
      title: 'a page of another site may not, whatever its name leads to: …',
    },
    {
      says: 'However many look at it, the checkpoint is read once for all.',
      file: 'runner/watch/watch-server.test.ts',
      title: 'is read once for all who ask at once',
    },
    {
      says: 'It keeps no run from starting.',
      file: 'e2e/watch.test.ts',
      title: 'keeps no run from starting, however often it looks',
    },
    {
      says: 'Nothing that a prompt, an id or a failure says steers a terminal.',
      file: 'terminal/fit-text.test.ts',
      title: 'leaves nothing that a terminal obeys',
    },
    {
      says: 'A night in which everything goes wrong fits into 2,000 plain lines.',
      file: 'terminal/plain-view.test.ts',
      title: 'stays under 2,000 lines in eight hours in which everything goes wrong',
    },
    {
      says: 'Every line of `--json` is as the published schema says.',
      file: 'terminal/events-schema.test.ts',
      title: 'holds for nights with troubles, resumed, halted, stopped and cancelled ones',
    },
    {
      says: 'A log that cannot be written ends no run.',
      file: 'e2e/log.test.ts',
      title: 'is a warning where it is …, and the night goes on',
    },
    {
      says: 'A monitor hears of success only where every scene is saved.',
      file: 'runner/notify/notifier.test.ts',
      title: 'a ping: the start, the last lines, and success only for …',
    },
    {
      says: 'One that is not there changes no outcome.',
      file: 'e2e/notify.test.ts',
      title: 'a monitor that is not there is said once, by its host, and the outcome is what it is',
    },
    {
      says: 'One that never answers is given up, and keeps nobody waiting.',
      file: 'runner/notify/notifier.test.ts',
      title: 'one that never answers is given up, and keeps nobody else waiting',
    },
  ],
  'In the morning: gallery and lists': [
    {
      says: 'A run that is killed leaves a gallery.',
      file: 'e2e/interim-report.test.ts',
      title: 'leaves a report, though the run is killed',
    },
    {
      says: 'A report that the disk does not take ends no run.',
      file: 'runner/pipeline/interim-reports.test.ts',
      title: 'that the disk does not take is told once, and the night goes on',
    },
    {
      says: 'The gallery opens without a server and a network, and shows prompts as they are, whatever stands in them.',
      file: 'web/gallery/gallery.test.ts',
      title: 'shows pictures with their prompts, whatever stands in them',
    },
    {
      says: 'Nothing in a prompt, a name or a failure becomes part of the page.',
      file: 'runner/report/gallery-files.test.ts',
      title:
        'leaves nothing of a prompt, a name or a failure in the page that ends a script or begins a comment',
    },
    {
      says: 'All pictures of a hundred thousand scenes are reached, found and sorted in it.',
      file: 'web/gallery/gallery.test.ts',
      title: 'are all reached, found and sorted',
    },
    {
      says: 'The command that it shows for a kind of failure puts exactly these back.',
      file: 'runner/report/gallery-files.test.ts',
      title: 'groups what failed, with the command that puts exactly that back',
    },
    {
      says: 'A thumbnail that cannot be written fails no scene.',
      file: 'runner/images/thumbnails.test.ts',
      title: 'is saved all the same where the disk does not take the thumbnail',
    },
    {
      says: 'Nor does a copy that its format cannot hold.',
      file: 'runner/images/copies.test.ts',
      title: 'that a format cannot hold are told, and the picture is saved',
    },
    {
      says: 'Pictures stay byte for byte as they came where `output.metadata` asks for nothing.',
      file: 'runner/images/provenance.test.ts',
      title: 'leaves the bytes that came where nothing is asked for',
    },
    {
      says: 'Embedded metadata leaves every other chunk, and so every pixel, untouched.',
      file: 'runner/images/provenance.test.ts',
      title: 'a PNG keeps every chunk that it came with: …',
    },
    {
      says: 'What belongs beside a picture survives a death at every call as the picture does.',
      file: 'runner/pipeline/provenance.test.ts',
      title: 'survives a death at every call',
    },
  ],
  'The service: accepted jobs are done': [
    {
      says: 'The service may be killed at any time, under load: no accepted job is lost, none is completed twice, and no output changes.',
      file: 'service/kill-under-load.test.ts',
      title: 'loses nothing, completes nothing twice, and changes no output',
    },
    {
      says: 'A worker that dies in the middle of a job leaves it to another.',
      file: 'service/pull-worker.test.ts',
      title: 'that is killed in the middle of a job leaves it to another',
    },
    {
      says: 'A result of a worker that has lost the job changes nothing.',
      file: 'service/pull-operations.test.ts',
      title: 'of a job that was cancelled, or is another worker’s, changes nothing',
    },
    {
      says: 'A result that is too large fails the job in words; it is never lost.',
      file: 'service/pull-operations.test.ts',
      title: 'that is too large fails the job in words',
    },
    {
      says: 'No worker is left running when the service has ended, however it ended.',
      file: 'e2e/serve-workers.test.ts',
      title: 'leaves no process after …, and its jobs in the queue',
    },
    {
      says: 'Inputs, outputs and errors are gone from the disk once they have been kept long enough.',
      file: 'service/retention.test.ts',
      title: 'leaves nothing of an input, output or error that is over, and all of the others',
    },
    {
      says: 'A full disk keeps nobody from ending jobs.',
      file: 'service/jobs/full-disk.test.ts',
      title: 'cancels and purges at once, for good, and takes on jobs again when there is space',
    },
    {
      says: 'No job is taken on into a data folder that was deleted or replaced.',
      file: 'service/jobs/lost-folder.test.ts',
      title: '…: submissions are refused in words, and it is said once',
    },
    {
      says: 'Long results cost no memory, however many slow readers they have.',
      file: 'service/http/long-answers.test.ts',
      title: 'takes the memory of its pieces only, with many readers who do not read',
    },
    {
      says: 'Nobody without a key of yours is let in from other machines.',
      file: 'service/service-options.test.ts',
      title: 'does not start for the whole network where nobody has a key',
    },
    {
      says: 'Who tries keys is told to wait, and nobody else.',
      file: 'service/keys/admission.test.ts',
      title: 'tells an address that has tried 20 keys to wait, in seconds, and no other',
    },
    {
      says: 'Keys are kept as digests, in a file that only you can read.',
      file: 'service/keys/key-store.test.ts',
      title: "is its owner's alone and holds no key",
    },
    {
      says: 'The console takes no change from pages of other sites.',
      file: 'service/console/sessions.test.ts',
      title: 'takes no change from pages of other sites',
    },
  ],
};
