# One measured run of bnlearn's hc, in a process of its own:
#
#     Rscript one_run.R table.csv bdeu|bic ESS
#
# The result is one line of JSON, as that of one_run.py.

suppressMessages(library(bnlearn))
arguments <- commandArgs(trailingOnly = TRUE)
table <- read.csv(arguments[1], colClasses = "factor", check.names = FALSE, na.strings = "")
climb <- function(table) {
  if (arguments[2] == "bdeu") hc(table, score = "bde", iss = as.numeric(arguments[3]))
  else hc(table, score = "bic")
}
status <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", line))
}
linux <- file.exists("/proc/self/clear_refs")

invisible(climb(table[seq_len(min(1000, nrow(table))), 1:3]))
invisible(gc())
if (linux) {
  writeLines("5", "/proc/self/clear_refs")
  before <- status("VmRSS")
}
started <- as.numeric(Sys.time())
found <- climb(table)
seconds <- as.numeric(Sys.time()) - started
memory <- if (linux) sprintf("%.0f", status("VmHWM") - before) else "null"
edges <- apply(arcs(found), 1, function(edge) sprintf('["%s", "%s"]', edge[1], edge[2]))
cat(sprintf('{"seconds": %.6f, "memory": %s, "edges": [%s]}\n',
            seconds, memory, paste(edges, collapse = ", ")))
