import { DATABASE_FIGURES, type DatabaseFigures } from '../../shared/db/database-figures.ts'
import type { ReadDatabase } from './read-database.ts'

/** The figures that every program exports. */
export async function getDatabaseFigures(database: ReadDatabase): Promise<DatabaseFigures> {
  const [row] = await database.rows<DatabaseFigures>({ name: 'database-figures', text: DATABASE_FIGURES })
  if (row === undefined) throw new Error('the figures have no row')
  return row
}
