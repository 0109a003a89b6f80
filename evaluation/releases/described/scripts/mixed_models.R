# Mixed models of a release, from ratings.csv:  Rscript analysis/mixed_models.R
# For each study and variable whose labels have numbers: systems as fixed effects, raters and units (within instances) as random ones.
# For answers that can be right: a logistic model of "right" in the same form. Needs the packages lme4 and jsonlite.

suppressPackageStartupMessages(library(lme4))

argument <- grep("^--file=", commandArgs(FALSE), value = TRUE)
folder <- dirname(normalizePath(sub("^--file=", "", argument[1])))
ratings <- read.csv(file.path(dirname(folder), "ratings.csv"), colClasses = "character", encoding = "UTF-8")
ratings <- subset(ratings, standing == "counted" & role == "ordinary" & excluded == "" & rater_kind == "human")
asked <- jsonlite::fromJSON(file.path(folder, "variables.json"), simplifyVector = FALSE)

# "system + (1 | rater) + ..." with the terms that the data have more than one value for.
terms_of <- function(part) {
  many <- function(name) length(unique(part[[name]])) > 1
  fixed <- if (many("system")) "system" else "1"
  random <- Filter(function(name) many(name) && length(unique(part[[name]])) < nrow(part), c("rater", "instance", "unit"))
  if (length(unique(part$unit)) == length(unique(part$instance))) random <- setdiff(random, "unit")
  if (length(random) == 0) return(NULL)
  paste(c(fixed, sprintf("(1 | %s)", random)), collapse = " + ")
}

fit <- function(title, part, response, logistic) {
  terms <- terms_of(part)
  if (is.null(terms) || length(unique(part[[response]])) < 2) {
    cat(title, ": not enough variation for a mixed model\n\n", sep = "")
    return(invisible())
  }
  model <- as.formula(paste(response, "~", terms))
  cat(title, ": ", deparse(model), "\n", sep = "")
  found <- tryCatch(
    if (logistic) glmer(model, part, family = binomial) else lmer(model, part),
    error = function(problem) { cat("  not fitted: ", conditionMessage(problem), "\n\n", sep = ""); NULL }
  )
  if (!is.null(found)) { print(coef(summary(found))); print(VarCorr(found)); cat("\n") }
}

for (slug in names(asked)) for (name in names(asked[[slug]]$variables)) {
  about <- asked[[slug]]$variables[[name]]
  part <- ratings[ratings$study == slug & ratings$variable == name & !(ratings$value %in% unlist(about$abstain)), ]
  if (nrow(part) == 0) next
  title <- paste0(slug, ", ", name)
  if (about$level != "nominal") {
    scores <- unlist(about$scores)
    part$score <- if (length(scores) > 0) unname(scores[part$value]) else suppressWarnings(as.numeric(part$value))
    fit(title, part[!is.na(part$score), ], "score", FALSE)
  }
  known <- part[part$real_output != "", ]
  if (name == asked[[slug]]$headline && nrow(known) > 0) {
    known$right <- as.integer(known$value == known$real_output)
    fit(paste0(title, ", right"), known, "right", TRUE)
  }
}
