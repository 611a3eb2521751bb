import type { ComponentChildren } from 'preact'

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  /** Aligned to the right. */
  isNumber?: boolean
}

interface TableProps<T> {
  /** Caption of the table, for screen readers. */
  caption: string
  columns: Column<T>[]
  rows: T[]
  keyOf: (row: T) => string | number
  /** A class for some rows. */
  classOf?: (row: T) => string | undefined
}

/** A table; on a narrow screen each row becomes a card whose cells carry their titles. */
export function Table<T>({ caption, columns, rows, keyOf, classOf }: TableProps<T>) {
  // Cards are no table to a browser, so the roles are named.
  return (
    <table role="table" class="table">
      <caption class="unseen">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, isNumber }) => (
            <th role="columnheader" scope="col" key={title} class={isNumber === true ? 'number' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr role="row" key={keyOf(row)} class={classOf?.(row)}>
            {columns.map(({ title, cell, isNumber }) => (
              <td role="cell" key={title} data-title={title} class={isNumber === true ? 'number' : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
