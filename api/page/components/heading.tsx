import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

let isFirst = true

/**
 * The heading of a view. After a navigation it takes the focus, so that a screen reader says where the reader is.
 * `title` depends on the address alone: a change of it counts as a navigation.
 */
export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Loan activity`
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [title])
  return (
    <div class="heading">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  )
}
