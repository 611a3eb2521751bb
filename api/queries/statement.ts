/** An SQL statement that each connection prepares once, under its name. */
export interface Statement {
  name: string
  text: string
}
