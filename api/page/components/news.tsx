import { connection } from '../lib/api.ts'
import { formatCount, formatDuration } from '../lib/format.ts'
import { behind, status } from '../lib/status.ts'

/** Says above the view that the service is away, slow or behind. */
export function News() {
  return (
    <div class="news" role="status">
      {connection.value === 'away' && (
        <p class="bad">
          <strong>The API is away.</strong> What you see may be old. The page keeps asking.
        </p>
      )}
      {connection.value === 'slow' && (
        <p class="warn">
          <strong>The API is slow.</strong> Answers take longer than 3 s.
        </p>
      )}
      {behind(status.value?.networks ?? []).map(({ network, lagBlocks, lagSeconds, note }) => (
        <p class="warn" key={network}>
          <strong>
            <bdi>{network}</bdi> is behind
          </strong>
          {lagBlocks !== null && lagBlocks > 0 && ` by ${formatCount(lagBlocks)} blocks`}
          {lagSeconds !== null && lagSeconds > 0 && ` (${formatDuration(lagSeconds)})`}: <bdi>{note}</bdi>.{' '}
          <a href="#/status">Status</a>
        </p>
      ))}
    </div>
  )
}
