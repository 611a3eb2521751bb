import { loadRolePasswords } from '../../shared/config/config.ts'
import {
  checkRole,
  grantRole,
  hasRole,
  putRole,
  type RoleFault,
  type RoleProgram,
} from '../../shared/db/roles.ts'
import type { Db } from '../../shared/db/connect.ts'
import { ConfigError } from '../../shared/errors.ts'
import { countOf } from './count-of.ts'
import { withDatabase, type OutputOptions } from './context.ts'

/** Each program's role; a program without one gets no rights. */
type RoleNames = Partial<Record<RoleProgram, string>>

const PROGRAMS: Record<RoleProgram, string> = {
  indexer: 'the indexer',
  api: 'the API',
  producer: 'a producer of vouchers',
  intake: 'the intake',
}

/**
 * Creates the named roles whose passwords are given, and grants every named role only the rights its program needs.
 * Throws a ConfigError when a role does not exist and has no password.
 */
export async function runRoles(options: OutputOptions & RoleNames & { check?: boolean }): Promise<void> {
  const { json, check, ...names } = options
  if (check === true) return withDatabase(({ db }) => checkRoles(db, names, json === true))
  const passwords = loadRolePasswords()
  await withDatabase(
    async ({ db }) => {
      for (const [program, role] of entriesOf(names)) {
        const password = passwords[program]
        if (password !== undefined) await putRole(db, role, password)
        else if (!(await hasRole(db, role))) throw missingRole(program, role)
        await grantRole(db, program, role)
        if (json !== true) console.log(`${role}: may do what ${PROGRAMS[program]} needs`)
      }
      if (json === true) console.log(JSON.stringify(names))
    },
    { writes: true },
  )
}

/**
 * Changes nothing. Sets exit code 1 when a role is missing, lacks a privilege on a table, or has one beyond its program's
 * needs.
 */
async function checkRoles(db: Db, names: RoleNames, isJson: boolean): Promise<void> {
  const checked: { program: RoleProgram; role: string; exists: boolean; faults: RoleFault[] }[] = []
  for (const [program, role] of entriesOf(names)) {
    const exists = await hasRole(db, role)
    checked.push({ program, role, exists, faults: exists ? await checkRole(db, program, role) : [] })
  }
  if (isJson) console.log(JSON.stringify(checked))
  else for (const one of checked) console.log(describe(one))
  if (checked.some(({ exists, faults }) => !exists || faults.length > 0)) process.exitCode = 1
}

function describe({
  program,
  role,
  exists,
  faults,
}: {
  program: RoleProgram
  role: string
  exists: boolean
  faults: RoleFault[]
}): string {
  if (!exists) return `${role}: there is no such role`
  if (faults.length === 0)
    return `${role}: may do what ${PROGRAMS[program]} needs on tables, and nothing else`
  const lines = faults.map(
    ({ is, privilege, schema, tables }) => `  ${is} ${privilege} on ${countOf(tables, 'table')} of ${schema}`,
  )
  return [`${role}: differs from what ${PROGRAMS[program]} needs`, ...lines].join('\n')
}

function entriesOf(names: RoleNames): [RoleProgram, string][] {
  return (['indexer', 'api', 'producer', 'intake'] as const).flatMap((program) => {
    const role = names[program]
    return role === undefined ? [] : [[program, role] satisfies [RoleProgram, string]]
  })
}

function missingRole(program: RoleProgram, role: string): ConfigError {
  return new ConfigError(
    `there is no role ${role}: create it (create role … login password …), or set ${program.toUpperCase()}_PASSWORD`,
  )
}
