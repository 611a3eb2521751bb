import { endsOf, markersOf, type ChainLink, type Column, type Place } from './timeline-model.ts'

interface LinksProps {
  columns: readonly Column[]
  links: readonly ChainLink[]
  position: number
}

/** Units of the drawing's height; its width has one unit for each column. */
const HEIGHT = 100

/** The lines between the lanes. They repeat what the list of reasons says, so that a screen reader passes them over. */
export function TimelineLinks({ columns, links, position }: LinksProps) {
  const width = columns.length + 1
  const markers = markersOf(columns, links)
  return (
    <div class="links" aria-hidden="true">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none">
        <line class="axis" x1="0" x2={width} y1={HEIGHT / 2} y2={HEIGHT / 2} />
        {columns.map(({ lane, record }, index) => (
          <line
            key={record.id}
            class={index > position ? `stem ${lane} later` : `stem ${lane}`}
            x1={index + 0.5}
            x2={index + 0.5}
            y1={lane === 'evm' ? 0 : HEIGHT / 2}
            y2={lane === 'evm' ? HEIGHT / 2 : HEIGHT}
          />
        ))}
        {links.map((link, index) => (
          <path
            key={index}
            class={`link ${link.kind}${link.isProvisional ? ' provisional' : ''}${isLater(link, position) ? ' later' : ''}`}
            d={curve(columns, link)}
          />
        ))}
        <line class="present" x1={position + 0.5} x2={position + 0.5} y1="0" y2={HEIGHT} />
      </svg>
      {links.map((link, index) => (
        <span
          key={index}
          class={`marker ${link.kind}${isLater(link, position) ? ' later' : ''}`}
          style={at(width, markers[index])}
        >
          {index + 1}
        </span>
      ))}
    </div>
  )
}

function isLater({ from, to }: ChainLink, position: number): boolean {
  return Math.max(from, to) > position
}

function curve(columns: readonly Column[], link: ChainLink): string {
  const [above, below] = endsOf(columns, link)
  const [top, bottom] = [above + 0.5, below + 0.5]
  return `M${top} 0C${top} ${HEIGHT / 3} ${bottom} ${(HEIGHT * 2) / 3} ${bottom} ${HEIGHT}`
}

function at(width: number, { x, y }: Place = { x: 0, y: 0 }): Record<string, string> {
  return { left: `${((x + 0.5) / width) * 100}%`, top: `${y * 100}%` }
}
