/** Every keyword, literal and pseudo-column of both databases, and names of their functions, types and hidden columns. */
export const databaseWords: readonly string[] = `
abort absolute access action add admin after aggregate all allballs also alter always analyse analyze and
any anyelement array as asc asensitive assertion assignment asymmetric at atom atomic attach attribute
authorization autoincrement avg backward before begin between bigint binary bit bm25 boolean both breadth by
bytea cache call called cascade cascaded case cast catalog chain changes char character characteristics
check checkpoint class close cluster cmax cmin coalesce collate collation column columns comment comments
commit committed compression concurrently configuration conflict connection constraint constraints content
continue conversion copy cost count create cross csv ctid cube current current_catalog current_date
current_role current_schema current_setting current_time current_timestamp current_user cursor cycle data
database date datetime day deallocate dec decimal declare default defaults deferrable deferred definer
delete delimiter delimiters depends depth desc detach dictionary disable discard distinct do docid document
domain double drop e each else enable encoding encrypted end enum epoch escape event except exclude excluded
excluding exclusive execute exists explain expression extension external extract fail false family fetch
filter finalize first float following for force foreign forward freeze from full fullkey function functions
generated glob global grant granted greatest group grouping groups handler having header highlight hold hour
identity if ignore ilike immediate immutable implicit import in include including increment index indexed
indexes inf infinity information_schema inherit inherits initially inline inner inout input insensitive
insert instead int int8 integer intersect interval into invoker is is_not isfalse isnull isolation istrue
item items join json jsonb julianday key label language large last lateral leading leakproof least left
length level like limit listen load local localtime localtimestamp location lock locked logged lower main
mapping match matched matchinfo materialized max maxvalue merge method min minute minvalue mode month move
name names nan national natural nchar new next nfc nfd nfkc nfkd nil no none normalize normalized not
nothing notify notnull now nowait null nullif nulls numeric object of off offset oid oids old on only
operator option options or order ordinality others out outer over overlaps overlay overriding owned owner
parallel parameter parent parser partial partition passing password path pi placing plan plans policy
position postgres pragma preceding precision prepare prepared preserve primary prior privileges procedural
procedure procedures program public publication query quote raise random range rank read real reassign
recheck record recursive ref references referencing refresh regclass regexp reindex relative release rename
repeatable replace replica reset restart restrict return returning returns revoke right role rollback rollup
root routine routines row row_number rowid rows rule savepoint schema schemas scroll search second security
select self sequence sequences serializable server session session_user set set_config setof sets share show
similar simple skip smallint snapshot snippet some sql sqlite_master sqlite_version stable standalone start
statement statistics stdin stdout storage stored strict strip subscription substring sum support symmetric
sysid system table tableoid tables tablesample tablespace temp template temporary text then this ties time
timestamp to today tomorrow total_changes trailing transaction transform treat trigger trim true truncate
trusted type types uescape unbounded uncommitted undefined unencrypted union unique unixepoch unknown
unlisten unlogged until update upper user using vacuum valid validate validator value values varchar
variadic varying verbose version view views virtual void volatile when where whitespace window with within
without work wrapper write xmax xmin xml xmlattributes xmlconcat xmlelement xmlexists xmlforest
xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable year yes yesterday zone
`
  .trim()
  .split(/\s+/)
