import { clip, formatAmount } from '../lib/format.ts'
import { Unknown } from './names.tsx'

/** An amount in whole units: grouped and cut, exact on hover. A token's symbol is text of a stranger. */
export function Amount({ of, unit }: { of: string | null | undefined; unit?: string | null | undefined }) {
  if (of === null || of === undefined || of === '') return <Unknown />
  return (
    <data class="amount" value={of} title={`${of}${unit == null ? '' : ` ${clip(unit, 32)}`}`}>
      {formatAmount(of)}
      {unit != null && (
        <>
          {' '}
          <bdi class="unit">{clip(unit, 12)}</bdi>
        </>
      )}
    </data>
  )
}
