import { sql } from 'kysely'
import type { Db } from '../../shared/db/connect.ts'
import type { CertificateProgress } from '../../shared/filecoin/f3/progress.ts'

export async function findCertificates(db: Db, network: string): Promise<CertificateProgress | null> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .select('certificates')
    .where('network', '=', network)
    .executeTakeFirst()
  return row?.certificates ?? null
}

/**
 * Stores how far certificates are verified; less than is stored only for another pinned table. Blocks that only another table's
 * certificates proved final are certified no more.
 */
export async function putCertificates(db: Db, network: string, progress: CertificateProgress): Promise<void> {
  const text = JSON.stringify(progress)
  await db
    .updateTable('ledger.chain_position')
    .set({
      certificates: text,
      certified: sql`case when certificates -> 'pinned' = ${text}::jsonb -> 'pinned' then certified end`,
    })
    .where('network', '=', network)
    .where(
      sql<boolean>`(certificates is null or certificates -> 'pinned' <> ${text}::jsonb -> 'pinned'
        or (certificates #>> '{next,instance}')::bigint < ${progress.next.instance})`,
    )
    .execute()
}

/** Forgets what certificates of a table proved that is trusted no more. */
export async function forgetCertificates(db: Db, network: string): Promise<void> {
  await db
    .updateTable('ledger.chain_position')
    .set({ certificates: sql`null`, certified: null })
    .where('network', '=', network)
    .execute()
}

/** Notes that a certificate proves our blocks up to `number` final. */
export async function noteCertified(db: Db, network: string, number: number): Promise<void> {
  await db
    .updateTable('ledger.chain_position')
    .set({ certified: sql`greatest(certified, ${number})` })
    .where('network', '=', network)
    .execute()
}
