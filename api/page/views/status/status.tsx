import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { NetworkHealth } from '../../../../client/index.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { Heading } from '../../components/heading.tsx'
import { Unknown } from '../../components/names.tsx'
import { Loading } from '../../components/states.tsx'
import { connection } from '../../lib/api.ts'
import { countOf, formatCount, formatDuration } from '../../lib/format.ts'
import { isStatusOld, status } from '../../lib/status.ts'
import { PROOF_WORDS } from '../loan/proof-words.ts'
import { Chart, type Series } from './chart.tsx'
import { Daily } from './daily-figures.tsx'
import { Reorgs } from './newest-origins.tsx'
import { lagSummary, withSamples, type Sample, type Samples } from './samples.ts'
import './status.css'

/** Kept while the reader looks at other views. */
const samples = signal<Samples>({})

/** Is the service up to date, and what is wrong? */
export default function StatusView() {
  const current = status.value
  useEffect(() => {
    if (current !== undefined)
      samples.value = withSamples(samples.peek(), current.networks, Date.now() / 1000)
  }, [current])
  return (
    <div class="stack">
      <Heading title="Status">
        {current !== undefined && (
          <p class="small faint">
            version {current.version}, {formatCount(current.records)} records
          </p>
        )}
      </Heading>
      {current === undefined ? (
        <Loading what="the status" />
      ) : (
        <>
          <p class="lead">
            {connection.value === 'ok' && !isStatusOld.value ? verdict(current.networks) : 'Not known.'}
          </p>
          {current.networks.map((health) => (
            <Network key={health.network} health={health} seen={samples.value[health.network] ?? NONE} />
          ))}
        </>
      )}
      <Reorgs />
      <Daily />
    </div>
  )
}

const NONE: readonly Sample[] = []

function verdict(networks: readonly NetworkHealth[]): string {
  const followed = networks.filter(({ state }) => state !== 'not followed')
  if (followed.length === 0) return 'No network is followed.'
  const wrong = followed.filter(({ synced, problem }) => !synced || problem !== null)
  if (wrong.length === 0) return 'Everything is up to date.'
  return `${wrong.map(({ network }) => network).join(' and ')}: something is wrong.`
}

const TONES: Partial<Record<string, Tone>> = {
  following: 'good',
  starting: 'plain',
  'not followed': 'plain',
  retrying: 'warn',
}

const HEIGHTS: readonly Series[] = [
  { label: 'head', color: '--faint', isDashed: true },
  { label: 'indexed', color: '--accent' },
  { label: 'final', color: '--good' },
]
const LAG: readonly Series[] = [{ label: 'lag in seconds', color: '--warn' }]

function Network({ health, seen }: { health: NetworkHealth; seen: readonly Sample[] }) {
  const { network, state, reader, writer, problem, note, head, indexed, finalized, lagBlocks, lagSeconds } =
    health
  const { queueWaiting, queueFailed, synced, proof } = health
  const at = seen.map((sample) => sample.at)
  const heights = useMemo(
    () => [at, seen.map((one) => one.head), seen.map((one) => one.indexed), seen.map((one) => one.finalized)],
    [seen],
  )
  const lags = useMemo(() => [at, seen.map((one) => one.lagSeconds)], [seen])
  const unit = network.startsWith('filecoin') ? 'epoch' : 'block'
  return (
    <section class="panel network" aria-label={network}>
      <div class="row">
        <h2>
          <bdi>{network}</bdi>
        </h2>
        <Badge tone={synced ? (TONES[state] ?? 'bad') : 'bad'}>{state}</Badge>
        <span class={synced ? 'faint' : 'wrong'}>
          <bdi>{note}</bdi>
        </span>
      </div>
      {problem !== null && (
        <p class="problem">
          <strong>Problem.</strong> <bdi>{problem}</bdi>
        </p>
      )}
      <dl class="figures">
        <Figure name="Head" value={head} />
        <Figure name="Indexed" value={indexed} />
        <Figure name="Final" value={finalized} />
        <div>
          <dt>Lag</dt>
          <dd>
            {lagSeconds === null ? <Unknown /> : formatDuration(lagSeconds)}
            {lagBlocks !== null && lagBlocks > 0 && (
              <span class="small faint"> {countOf(lagBlocks, unit)}</span>
            )}
          </dd>
        </div>
        <Figure name="Queue" value={queueWaiting} />
        <Figure name="Failed jobs" value={queueFailed} isBad={(queueFailed ?? 0) > 0} />
      </dl>
      <p class="small faint">
        Reader: {reader}. Writer: {writer}.
      </p>
      {proof !== null && <Proof proof={proof} unit={unit} />}
      <div class="charts">
        <Chart
          label={`Heights of ${network}: head ${head ?? 'not known'}, indexed ${indexed ?? 'not known'}, final ${finalized ?? 'not known'}.`}
          series={HEIGHTS}
          data={heights}
          isHeights
        />
        <Chart label={lagSummary(seen)} series={LAG} data={lags} />
      </div>
    </section>
  )
}

/** How the blocks were proven, weak kinds marked. */
function Proof({ proof, unit }: { proof: NonNullable<NetworkHealth['proof']>; unit: string }) {
  const { from, to, missing, blocks, stateAt, certificateAt } = proof
  return (
    <p class="small">
      Proof of {unit}s {formatCount(from)} to {formatCount(to)}:{' '}
      {missing > 0 && <span class="wrong">{countOf(missing, unit)} missing; </span>}
      {stateAt !== null && `state of the contracts at ${formatCount(stateAt)}; `}
      {certificateAt !== null && `final by certificate up to ${formatCount(certificateAt)}; `}
      {Object.entries(blocks).map(([kind, count], index) => (
        <span key={kind} class={kind === 'one' ? 'weak' : undefined}>
          {index > 0 && '; '}
          {countOf(count, unit)}: {PROOF_WORDS[kind]}
        </span>
      ))}
    </p>
  )
}

function Figure({ name, value, isBad = false }: { name: string; value: number | null; isBad?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'wrong' : undefined}>{value === null ? <Unknown /> : formatCount(value)}</dd>
    </div>
  )
}
