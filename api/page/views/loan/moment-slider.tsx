import { exactTime, toMs } from '../../lib/format.ts'
import type { Column } from './timeline-model.ts'

interface SliderProps {
  columns: readonly Column[]
  /** The index of a column, or their number for now. */
  position: number
  onShow: (at: number) => void
}

/** Moves through the loan's life: a position for each record, and a last one for now. */
export function MomentSlider({ columns, position, onShow }: SliderProps) {
  const column = columns[position]
  const at = column === undefined ? null : toMs(column.record.createdAt)
  const text =
    column === undefined
      ? 'Now'
      : `After record ${position + 1} of ${columns.length}, ${column.words.title}${at === null ? '' : `, ${exactTime(at)}`}`
  return (
    <div class="moment">
      <input
        type="range"
        min="0"
        max={columns.length}
        step="1"
        value={position}
        aria-label="The loan as it stood after"
        aria-valuetext={text}
        onInput={({ currentTarget }) => onShow(Number(currentTarget.value))}
      />
      <p class="moment-text" aria-hidden="true">
        {text}
      </p>
    </div>
  )
}
