import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatCount } from '../../lib/format.ts'
import { roundTimes, timeText } from './time-axis.ts'

export interface Series {
  label: string
  /** A custom property of the palette, as in `--accent`. */
  color: string
  /** A line, or bars that hide what is drawn before them. */
  shape?: 'line' | 'bars'
  isDashed?: boolean
}

interface ChartProps {
  /** Text of the chart for screen readers. */
  label: string
  series: readonly Series[]
  /** Unix seconds, then the values of each series. */
  data: (number | null)[][]
  /** Heights move by a little above a great number; lags and counts begin at zero. */
  isHeights?: boolean
  /** The horizontal axis has days in UTC instead of times of the reader. */
  isDaily?: boolean
}

const HEIGHT = 130
/** The space of a label of the horizontal axis. */
const LABEL_PX = 80

/** A small chart. It redraws when values arrive, when its place gets another width, and when the colours change. */
export function Chart({ label, series, data, isHeights = false, isDaily = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    const parent = place.current
    if (parent === null) return
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(
        options(parent, series, { isHeights, isDaily }),
        latest.current as uPlot.AlignedData,
        parent,
      )
    }
    const colours = matchMedia('(prefers-color-scheme: dark)')
    const sized = new ResizeObserver(() =>
      plot.current?.setSize({ width: parent.clientWidth, height: HEIGHT }),
    )
    draw()
    sized.observe(parent)
    colours.addEventListener('change', draw)
    return () => {
      sized.disconnect()
      colours.removeEventListener('change', draw)
      plot.current?.destroy()
    }
  }, [series, isDaily])
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data])
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={label} />
      <figcaption class="row small" aria-hidden="true">
        {series.map(({ label: name, color, isDashed }) => (
          <span
            key={name}
            class={isDashed === true ? 'swatch dashed' : 'swatch'}
            style={{ '--swatch': `var(${color})` }}
          >
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function options(
  parent: HTMLElement,
  series: readonly Series[],
  { isHeights, isDaily }: { isHeights: boolean; isDaily: boolean },
): uPlot.Options {
  const palette = getComputedStyle(parent)
  const colour = (name: string): string => palette.getPropertyValue(name)
  const axis = {
    stroke: colour('--faint'),
    grid: { stroke: colour('--edge') },
    ticks: { show: false },
    font: '11px system-ui',
  }
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    // The page writes the times itself; docs of the charts call that `time: false`.
    scales: {
      x: {
        time: false,
        range: ({ data: [times] }) => span(times, isDaily),
      },
      y: { range: isHeights ? around : fromZero },
    },
    axes: [
      {
        ...axis,
        size: 28,
        splits: (plot, _axis, from, to) => roundTimes(from, to, isDaily, plot.width / LABEL_PX),
        values: (_plot, times) => times.map((at) => timeText(at, isDaily)),
      },
      {
        ...axis,
        size: 56,
        values: (_plot, values) => values.map((value) => (Number.isInteger(value) ? formatCount(value) : '')),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color, shape, isDashed }): uPlot.Series => {
        const bars = uPlot.paths.bars?.({ size: [0.6, 40] })
        return {
          label,
          stroke: colour(color),
          width: shape === 'bars' ? 0 : 2,
          points: { show: isDaily && shape !== 'bars' },
          ...(isDashed === true ? { dash: [6, 4] } : {}),
          ...(shape === 'bars' && bars !== undefined ? { fill: colour(color), paths: bars } : {}),
        }
      }),
    ],
  }
}

/** From the first value to the last, and a minute at least; half a day more on either side of bars. */
function span(times: ArrayLike<number>, isDaily: boolean): [number, number] {
  const [from, to] = [times[0] ?? 0, times[times.length - 1] ?? 0]
  return isDaily ? [from - 43_200, to + 43_200] : [from, Math.max(to, from + 60)]
}

function around(_plot: uPlot, least: number | null, most: number | null): [number, number] {
  return least === null || most === null ? [0, 1] : [least - 2, most + 2]
}

function fromZero(_plot: uPlot, _least: number | null, most: number | null): [number, number] {
  return [0, Math.max((most ?? 0) * 1.1, 4)]
}
